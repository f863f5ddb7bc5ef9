"""Downloads of data sets from their official addresses, complete and checked.

A file gets its name when it is complete and its checksum is right. If no SHA-256 is published, the
one of the first download is stored in ``FILE.sha256`` and required of later downloads.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from .._version import __version__
from ..errors import DownloadError, InputError
from ..storage.output import whole_file
from .dataset import Dataset, Download

_PIECE = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_LONGEST = 3600.0  # seconds in all
_LARGEST = 1 << 30  # bytes; the largest file of the catalogue has 0.2 GB

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
        problem = f"the data set {dataset.name} cannot be downloaded by a program"
        raise DownloadError(problem, hint=by_hand)
    place = dataset.folder(folder)
    missing = [d for d in dataset.downloads if not (place / d.file).is_file()]
    try:
        return [fetch_file(download, place, progress) for download in missing]
    except DownloadError as error:
        error.hint = "; ".join(filter(None, (error.hint, by_hand)))
        raise


def fetch_file(download: Download, folder: Path, progress: Progress = lambda *_: None) -> Path:
    """Download one file into a folder."""
    target = folder / download.file
    try:
        with whole_file(target) as part:
            _receive(download, part, progress)
            _check(download, part)
    except InputError as error:
        raise DownloadError(error.message, hint=error.hint) from None
    return target


def _receive(download: Download, part: Path, progress: Progress) -> None:
    """Write an address to a file; raise if the answer ends early."""
    # These take a tenth of the time of importing the library.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, build_opener

    headers = {"User-Agent": f"boolrank/{__version__}", "Accept-Encoding": "identity"}
    request = Request(download.address, headers=headers)  # noqa: S310 - addresses of the catalogue
    have, start = 0, time.monotonic()
    opener = build_opener(_secure_redirects())
    try:
        # "x" fails if somebody planted a link with this name.
        with opener.open(request, timeout=_TIMEOUT) as answer, part.open("xb") as file:
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            progress(download.file, 0, total)
            while piece := answer.read(_PIECE):
                file.write(piece)
                have += len(piece)
                if have > _LARGEST or time.monotonic() - start > _LONGEST:
                    raise DownloadError(
                        f"{download.address} was stopped after {have:,} bytes: a download has at "
                        f"most {_LARGEST:,} bytes and {_LONGEST / 60:.0f} minutes"
                    )
                progress(download.file, have, total)
    except HTTPError as error:
        error.close()
        raise DownloadError(f"{download.address} answers {error.code} ({error.reason})") from None
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        why = getattr(error, "reason", None) or str(error) or type(error).__name__
        fate = f"was cut off after {have:,} bytes" if have else "cannot be reached"
        raise DownloadError(f"{download.address} {fate}: {why}") from None
    if total is not None and have < total:
        raise DownloadError(f"{download.address} was cut off after {have:,} of {total:,} bytes")


def _secure_redirects() -> Any:
    from urllib.request import HTTPRedirectHandler

    class Redirects(HTTPRedirectHandler):
        """Follows to https, or from http to http."""

        def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, *rest: Any) -> Any:
            scheme = rest[-1].partition(":")[0].lower()
            if scheme not in {"https", req.type}:
                raise DownloadError(
                    f"{req.full_url} leads to {rest[-1]}, which is not secure",
                    hint="the publisher or the network changed it",
                )
            return super().redirect_request(req, fp, code, msg, *rest)

    return Redirects()


def _check(download: Download, part: Path) -> None:
    """Raise if a file is not the published one, or not the one of the first download."""
    wrong, hint = "", "try again; if this repeats, the publisher or the network changed it"
    kind, _, expected = download.checksum.partition(":")
    if kind:
        found = _digest(part, kind)
        wrong = f"with the {kind} {found} instead of {expected}" if found != expected else ""
    elif download.file.endswith(".zip") and not is_zipfile(part):
        wrong = "as something that is not a zip archive"  # for example a login page of a network
    if not wrong and kind != "sha256":
        first, found = part.with_name(f"{download.file}.sha256"), _digest(part, "sha256")
        if not first.exists():
            first.write_text(f"{found}  {download.file}\n", encoding="utf-8")  # for sha256sum -c
        elif first.read_text(encoding="utf-8").split()[:1] != [found]:
            wrong = f"with the sha256 {found}, which differs from the first download"
            hint += f"; delete {first} to accept it"
    if wrong:
        raise DownloadError(f"{download.address} came {wrong}; it was deleted", hint=hint)


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()
