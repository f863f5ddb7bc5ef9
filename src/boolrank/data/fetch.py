"""Downloads of data sets from their official addresses, complete and checked.

A file grows under the name ``*.part`` and is renamed when it is complete and its checksum is right.
An interrupted download resumes: ``*.part.mark`` keeps the server's mark of the version (its ETag or
date), and a server with another version, or without ranges, sends all of it again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from .._version import __version__
from ..errors import DownloadError
from ..storage.folder import locked
from .dataset import Dataset, Download

_PIECE = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_MARK = re.compile(rb"[ -~]+")

Progress = Callable[[str, int, int | None], None]


def fetch_dataset(
    dataset: Dataset, folder: str | Path | None = None, progress: Progress = lambda *_: None
) -> list[Path]:
    """Download the missing files of a data set into the folder of all data sets; return them.

    ``progress`` is called with a file's name, its bytes so far, and in all if known.
    """
    if dataset.is_here(folder):
        return []
    by_hand = dataset.instructions(folder)
    if not dataset.downloads:
        raise DownloadError(
            f"the data set {dataset.name} cannot be downloaded by a program", hint=by_hand
        )
    place = dataset.folder(folder)
    missing = [d for d in dataset.downloads if not (place / d.file).is_file()]
    try:
        return [fetch_file(download, place, progress) for download in missing]
    except DownloadError as error:
        error.hint = "; ".join(filter(None, (error.hint, by_hand)))
        raise


def fetch_file(download: Download, folder: Path, progress: Progress = lambda *_: None) -> Path:
    """Download one file into a folder, or the rest of it."""
    target, part, mark = (folder / (download.file + end) for end in ("", ".part", ".part.mark"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, wait=False):
            _receive(download, part, mark, progress)
            wrong = _fault(download, part)
            if wrong:
                part.unlink()
            else:
                part.replace(target)
            mark.unlink(missing_ok=True)
    except DownloadError:
        raise
    except BlockingIOError:
        raise DownloadError(
            f"another process is downloading into {folder}", hint="wait until it has finished"
        ) from None
    except OSError as error:
        raise DownloadError(f"{target} cannot be written: {error}") from None
    if wrong:
        raise DownloadError(
            f"{download.address} came {wrong}; it was deleted",
            hint="try again; if this repeats, the publisher or the network changed it",
        )
    return target


def _receive(download: Download, part: Path, mark: Path, progress: Progress) -> None:
    """Download until the part is complete."""
    # These take a tenth of the time of importing the library.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    version = mark.read_bytes() if part.exists() and mark.exists() else b""
    have = part.stat().st_size if _MARK.fullmatch(version) else 0
    headers = {"User-Agent": f"boolrank/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version.decode()}
    request = Request(download.address, headers=headers)  # noqa: S310 - addresses of the catalogue
    try:
        with urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - as above
            have, total = _start(answer, have, mark)
            with part.open("ab" if have else "wb") as file:
                tags = (answer.headers.get(name, "") for name in ("ETag", "Last-Modified"))
                for tag in tags:  # a weak ETag does not promise the same bytes
                    if tag and not tag.startswith("W/"):
                        mark.write_text(tag, encoding="utf-8")
                        break
                progress(download.file, have, total)
                for piece in _pieces(answer, have, total):
                    file.write(piece)
                    progress(download.file, file.tell(), total)
                file.flush()
                os.fsync(file.fileno())
    except HTTPError as error:
        error.close()
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            said = f"{download.address} answers {error.code} ({error.reason})"
            raise DownloadError(said) from None
        # The part has all bytes, or more than there are: start again.
        mark.unlink(missing_ok=True)
        _receive(download, part, mark, progress)
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        why = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DownloadError(f"{download.address} cannot be reached: {why}") from None


def _start(answer: Any, have: int, mark: Path) -> tuple[int, int | None]:
    """Return the first byte of an answer, and the size of the whole file if it is known."""
    length = answer.headers.get("Content-Length", "")
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        mark.unlink(missing_ok=True)
        return 0, int(length) if length.isdecimal() else None
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None or int(match[1]) != have:
        mark.unlink(missing_ok=True)  # the next attempt asks for all of it
        raise DownloadError(f"{answer.url} sends another part than requested", hint="try again")
    # A server may send less than requested.
    return have, int(match[3]) if match[3] != "*" else int(match[2]) + 1


def _pieces(answer: Any, have: int, total: int | None) -> Iterator[bytes]:
    """Yield the content of an answer; raise if it ends early."""
    from http.client import HTTPException

    piece, broken = b"-", False
    while piece:
        try:
            piece = answer.read(_PIECE)
        except (HTTPException, OSError):
            piece, broken = b"", True
        have += len(piece)
        yield piece
    if broken or (total is not None and have < total):
        of = "" if total is None else f" of {total:,}"
        raise DownloadError(
            f"{answer.url} was cut off after {have:,}{of} bytes",
            hint="the part is kept: the same command again resumes the download",
        )


def _fault(download: Download, part: Path) -> str:
    """Return what is wrong with a file, by its checksum if one is published."""
    if download.checksum is not None:
        kind, _, expected = download.checksum.partition(":")
        with part.open("rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        return f"with the {kind} {found} instead of {expected}" if found != expected else ""
    if download.file.endswith(".zip") and not is_zipfile(part):
        return "as something that is not a zip archive"  # for example a login page of a network
    return ""
