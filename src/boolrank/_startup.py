"""Let Ctrl-C end the command ``boolrank`` without a traceback while its modules are imported.

The package is imported before `cli.main` can handle signals, and that takes half a second. In any
other program nothing changes.
"""

import signal  # nothing else that takes time
import sys

_name = sys.argv[0] if sys.argv else ""
_file = _name.replace("\\", "/").rpartition("/")[2]
_is_command = _file.removesuffix(".exe") == "boolrank" or (
    _name == "-m" and "boolrank" in sys.orig_argv
)
if _is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
