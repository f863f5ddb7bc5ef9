"""Downloads from official addresses: whole and checked, or not there at all.

A file grows under another name, ``.part``, and gets its own when it is complete and its checksum is
right; where none is published, an archive must be one at least. What is cut off stays, with the
server's mark of that version beside it (``.part.mark``), and the next attempt asks for the rest of
the same version; a server that has another one by now, or knows no ranges, sends all of it again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from .._version import __version__
from ..errors import DownloadError
from .dataset import Dataset, Download

__all__ = ["fetch_dataset", "fetch_file"]

_PIECE = 1 << 18
_PATIENCE = 30.0  # seconds without a byte
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

# Called with the file's name, how many bytes there are, and how many there will be if known.
Progress = Callable[[str, int, int | None], None]


def fetch_dataset(
    dataset: Dataset, folder: str | Path | None = None, progress: Progress = lambda *_: None
) -> list[Path]:
    """Download the files of a data set that are not there yet; which ones they were.

    Parameters
    ----------
    dataset : an entry of the catalogue
    folder : with a folder for each data set; ``BOOLRANK_DATA``, or the user's cache, if not given
    progress : called now and then with a file's name, its bytes so far, and in all if known

    Nothing is downloaded twice:

    >>> from tempfile import TemporaryDirectory
    >>> from boolrank import DATASETS
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "filmtrust").mkdir()
    ...     Path(folder, "filmtrust", "ratings.txt").touch()
    ...     fetch_dataset(DATASETS["filmtrust"], folder)
    []
    """
    if dataset.is_here(folder):
        return []
    if not dataset.downloads:
        error = DownloadError(f"the data set {dataset.name} cannot be downloaded by a program")
        error.add_note(dataset.instructions(folder))
        raise error
    place = dataset.folder(folder)
    missing = [d for d in dataset.downloads if not (place / d.file).is_file()]
    try:
        return [fetch_file(download, place, progress) for download in missing]
    except DownloadError as error:
        error.add_note(dataset.instructions(folder))
        raise


def fetch_file(download: Download, folder: Path, progress: Progress = lambda *_: None) -> Path:
    """Download one file into a folder, or the rest of it where a part is there."""
    target = folder / download.file
    part, mark = (target.with_name(f"{target.name}.{end}") for end in ("part", "part.mark"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            _complete(download, part, mark, progress)
            _check(download, part, mark)
            os.replace(part, target)  # noqa: PTH105 - the word for it everywhere
            mark.unlink(missing_ok=True)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(f"{target} cannot be written: {error}") from None
    return target


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuse a second download into the same folder: both would write into one part."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    # The lock is the system's, so that nothing is left of it when a process is killed.
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DownloadError(
                f"another process is downloading into {folder}; wait until it has done so"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def _complete(download: Download, part: Path, mark: Path, progress: Progress) -> None:
    """Download until the part is whole."""
    # Only a download needs these, which take a tenth of the time of importing the library.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    known = _known(mark) if part.exists() else ""
    have = part.stat().st_size if known else 0
    headers = {"User-Agent": f"boolrank/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": known}
    # The addresses are those of the catalogue.
    request = Request(download.address, headers=headers)  # noqa: S310
    try:
        with urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310 - as above
            have, total = _begins(answer, have, mark)
            _receive(answer, part, mark, have, total, lambda n: progress(download.file, n, total))
    except HTTPError as error:
        error.close()
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise DownloadError(
                f"{download.address} answers {error.code} ({error.reason})"
            ) from None
        # The part has all bytes already, or more than there are: begin again.
        mark.unlink(missing_ok=True)
        _complete(download, part, mark, progress)
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        why = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DownloadError(f"{download.address} cannot be reached: {why}") from None


def _known(mark: Path) -> str:
    """The server's mark of the version that the part is of; "" where there is none."""
    with suppress(OSError, UnicodeDecodeError):
        text = mark.read_text(encoding="utf-8")
        return text if text.isascii() and text.isprintable() else ""
    return ""


def _begins(answer: Any, have: int, mark: Path) -> tuple[int, int | None]:
    """At which byte the answer begins, and how many the whole file has, if that is known."""
    length = answer.headers.get("Content-Length", "")
    size = int(length) if length.isdecimal() else None
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        mark.unlink(missing_ok=True)
        return 0, size
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None or int(match[1]) != have:
        mark.unlink(missing_ok=True)  # so that the next attempt asks for all of it
        raise DownloadError(f"{answer.url} sends another part than was asked for; try again")
    # A server may send less than was asked for.
    return have, int(match[3]) if match[3] != "*" else int(match[2]) + 1


def _receive(
    answer: Any,
    part: Path,
    mark: Path,
    have: int,
    total: int | None,
    progress: Callable[[int], None],
) -> None:
    from http.client import HTTPException

    etag = answer.headers.get("ETag", "")
    # A weak mark says that contents mean the same, not that the bytes are the same.
    strong = answer.headers.get("Last-Modified", "") if etag.startswith("W/") or not etag else etag
    with part.open("ab" if have else "wb") as file:
        if strong:
            mark.write_text(strong, encoding="utf-8")
        progress(have)
        while True:
            try:
                piece = answer.read(_PIECE)
            except (HTTPException, OSError) as error:
                raise _cut_off(answer.url, have, total) from error
            if not piece:
                break
            file.write(piece)
            have += len(piece)
            progress(have)
        file.flush()
        os.fsync(file.fileno())
    if total is not None and have < total:
        raise _cut_off(answer.url, have, total)


def _cut_off(address: str, have: int, total: int | None) -> DownloadError:
    of = "" if total is None else f" of {total:,}"
    error = DownloadError(f"{address} was cut off after {have:,}{of} bytes")
    error.add_note("what came is kept: the same command again goes on from there")
    return error


def _check(download: Download, part: Path, mark: Path) -> None:
    """Compare the checksum where one is published; a file that is wrong is not kept."""
    wrong = _wrong(download, part)
    if wrong:
        part.unlink()
        mark.unlink(missing_ok=True)
        error = DownloadError(f"{download.address} came {wrong}; it was deleted")
        error.add_note(
            "try again; if it stays so, the file is another one by now, or is changed "
            "on its way to you"
        )
        raise error


def _wrong(download: Download, part: Path) -> str:
    """What is wrong with a download, or ""."""
    if download.checksum is None:
        # What answers instead of the publisher, such as the login page of a network, is none.
        is_none = download.file.endswith(".zip") and not is_zipfile(part)
        return "as something that is no zip archive" if is_none else ""
    kind, _, expected = download.checksum.partition(":")
    with part.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    return "" if found == expected else f"with the {kind} {found} instead of {expected}"
