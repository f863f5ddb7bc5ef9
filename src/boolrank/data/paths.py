"""Files by name: globs, folders of Parquet, and addresses in object stores."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path

from ..errors import InputError

_STORES = r"(s3a?|gs|gcs|az|azure|abfss?)://"


def expand(paths: str | Path | Iterable[str | Path]) -> list[Path | str]:
    """Return the files of names, globs and folders of Parquet: in order of names, none twice.

    Addresses of Parquet in object stores stay text.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no files are given", hint="give one, or a glob such as 'events/*.csv'")
    found: dict[Path | str, None] = {}
    for each in given:
        path = Path(each).expanduser()
        if re.match(_STORES, str(each)):
            found[str(each)] = None
            continue
        if re.match(r"\w{2,}:/", str(each)):
            hint = f"download it first, such as with: curl -LO {each}"
            raise InputError(f"{each} is an address, and only files are read", hint=hint)
        # glob, not Path.glob, which refuses absolute patterns.
        names = [path] if path.exists() else sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in map(Path, names) if file.is_file()]
        if path.is_dir():
            inside = (file for file in path.rglob("*.parquet") if file.is_file())
            files = sorted(file for file in inside if not _is_hidden(file.relative_to(path)))
        if path.is_dir() and not files:
            raise InputError(
                f"{path} is a folder without Parquet files",
                hint=f"name its files, such as '{path}/*.csv'",
            )
        if not files:
            raise InputError(
                f"no file matches {str(each)!r}",
                hint="check its name and folder; names with blanks need quotes",
            )
        found |= dict.fromkeys(files)
    return list(found)


def check_name(path: Path) -> None:
    """Raise for a name that is not UTF-8, which polars cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"the name {str(path)!r} is not UTF-8", hint="rename it") from None


def _is_hidden(path: Path) -> bool:
    """Return True for files of other programs, such as those in ``_delta_log``."""
    return any(part.startswith(("_", ".")) for part in path.parts)
