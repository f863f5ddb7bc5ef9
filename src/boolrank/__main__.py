"""``python -m boolrank`` is the command ``boolrank``."""

from .cli import main

if __name__ == "__main__":
    main()
