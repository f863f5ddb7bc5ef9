"""Downloads from a server on loopback: complete, interrupted, refused, wrong, stopped."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request
from uuid import UUID

import pytest

from boolrank.data import DATASETS, Download, fetch, fetch_dataset
from boolrank.data.fetch import fetch_file
from boolrank.errors import DownloadError
from boolrank.storage import output

BODY = bytes(range(256)) * 8192  # 2 MB
SHA = f"sha256:{hashlib.sha256(BODY).hexdigest()}"


@dataclass
class Site:
    """A server with one file, and how it behaves."""

    body: bytes = BODY
    cut_after: int | None = None
    length: str | None = None
    status: int | None = None
    elsewhere: str = ""
    pause: float = 0.0
    asked: list[dict[str, str]] = field(default_factory=list)
    address: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        headers = dict(request.headers)
        self.asked.append(headers)
        if self.status is not None:
            request.send_error(self.status)
            return
        if self.elsewhere and request.path != self.elsewhere:
            request.send_response(302)
            request.send_header("Location", self.elsewhere)
            request.end_headers()
            return
        request.send_response(200)
        length = str(len(self.body)) if self.length is None else self.length
        if length:
            request.send_header("Content-Length", length)
        request.end_headers()
        rest = self.body[: self.cut_after]
        for at in range(0, len(rest), 1 << 16):
            request.wfile.write(rest[at : at + (1 << 16)])
            request.wfile.flush()
            time.sleep(self.pause)


@pytest.fixture
def serve():
    """Start a site, on a port of its own; all are stopped in the end."""
    servers = []

    def start(**behaviour) -> Site:
        site = Site(**behaviour)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                with suppress(ConnectionError):  # the client may have gone
                    site.answer(self)

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        site.address = f"http://127.0.0.1:{server.server_port}/set.zip"
        return site

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def get(tmp_path):
    """Download the file of a site into the folder of the test."""

    def get(site: Site, checksum: str = SHA, file: str = "set.zip", **more):
        return fetch_file(Download(site.address, file, checksum), tmp_path, **more)

    return get


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_download_reports_progress_and_leaves_only_the_file(serve, get, tmp_path):
    seen = []
    path = get(serve(), progress=lambda *what: seen.append(what))
    assert path.read_bytes() == BODY
    assert names(tmp_path) == ["set.zip"]
    assert seen[0] == ("set.zip", 0, len(BODY))
    assert seen[-1] == ("set.zip", len(BODY), len(BODY))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


@pytest.mark.parametrize("checksum", [SHA, ""], ids=["with checksum", "without"])
def test_an_interrupted_download_leaves_nothing_and_can_be_repeated(serve, get, tmp_path, checksum):
    site = serve(cut_after=700_000)
    with pytest.raises(
        DownloadError, match=r"set.zip was cut off after 700,000 of 2,097,152 bytes"
    ):
        get(site, checksum, "set.txt")
    assert names(tmp_path) == []
    site.cut_after = None
    assert get(site, checksum, "set.txt").read_bytes() == BODY
    assert names(tmp_path) == ["set.txt", *([] if checksum else ["set.txt.sha256"])]


@pytest.mark.parametrize("length", ["", "many", "-5"])
def test_without_a_valid_length_the_end_of_the_answer_is_the_end(serve, get, length):
    assert get(serve(length=length)).read_bytes() == BODY


def test_a_redirection_is_followed(serve, get):
    site = serve(elsewhere="/other/set.zip")
    assert get(site).read_bytes() == BODY
    assert len(site.asked) == 1 + 1


def test_a_redirection_to_something_less_secure_is_refused(serve, get, tmp_path):
    with pytest.raises(DownloadError, match=r"leads to ftp://127.0.0.1/set.zip, which is not sec"):
        get(serve(elsewhere="ftp://127.0.0.1/set.zip"))
    assert names(tmp_path) == []
    follow = fetch._secure_redirects().redirect_request
    request = Request("https://there.org/set.zip")
    with pytest.raises(DownloadError, match=r"leads to HTTP://there.org/a, which is not secure"):
        follow(request, None, 302, "Found", {}, "HTTP://there.org/a")
    assert follow(request, None, 302, "Found", {}, "https://there.org/a").type == "https"


@pytest.mark.parametrize(("name", "most"), [("_LARGEST", 1 << 20), ("_LONGEST", 0.0)])
def test_a_download_without_an_end_is_stopped(serve, get, tmp_path, monkeypatch, name, most):
    monkeypatch.setattr(fetch, name, most)
    with pytest.raises(DownloadError, match=r"was stopped after [\d,]+ bytes: a download has"):
        get(serve(length=""))
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_in_place_of_the_part_is_not_followed(serve, get, tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(output, "uuid4", lambda: UUID(int=7))
    (tmp_path / f".set.zip-{UUID(int=7).hex}").symlink_to(victim)
    with pytest.raises(DownloadError, match="cannot be written"):
        get(serve())
    assert victim.read_text() == "precious"


def test_a_page_in_place_of_an_archive_is_deleted(serve, get, tmp_path):
    site = serve(body=b"<html>Please log in to this network</html>")
    with pytest.raises(DownloadError, match="not a zip archive; it was deleted"):
        get(site, checksum="")
    assert names(tmp_path) == []


def test_two_downloads_at_once_do_not_mix(serve, get, tmp_path):
    site = serve(pause=0.02)
    first = threading.Thread(target=get, args=(site,))
    first.start()
    assert get(site).read_bytes() == BODY
    first.join()
    assert (tmp_path / "set.zip").read_bytes() == BODY
    assert names(tmp_path) == ["set.zip"]


def test_a_file_with_a_wrong_checksum_is_deleted(serve, get, tmp_path):
    with pytest.raises(DownloadError, match=r"md5 [0-9a-f]{32} instead of 0123; it was deleted"):
        get(serve(), checksum="md5:0123")
    assert names(tmp_path) == []


@pytest.mark.parametrize("checksum", ["", "md5:db1f7d786f6e0317456fac1628349973"])
def test_without_a_published_sha256_that_of_the_first_download_holds(serve, get, checksum):
    first = get(serve(), checksum, "set.txt")
    record = first.with_name("set.txt.sha256")
    assert record.read_text() == f"{SHA.removeprefix('sha256:')}  set.txt\n"
    first.unlink()
    if not checksum:
        with pytest.raises(DownloadError, match="which differs from the first down") as caught:
            get(serve(body=b"other"), checksum, "set.txt")
        assert f"delete {record} to accept it" in caught.value.hint
        assert names(first.parent) == ["set.txt.sha256"]
    assert get(serve(), checksum, "set.txt").read_bytes() == BODY
    record.unlink()
    record.mkdir()
    with pytest.raises(DownloadError, match="cannot be written"):
        get(serve(), checksum, "set.txt")


@pytest.mark.parametrize("status", [404, 403, 500])
def test_the_error_has_the_status_of_the_server(serve, get, tmp_path, status):
    with pytest.raises(DownloadError, match=rf"/set.zip answers {status} \("):
        get(serve(status=status))
    assert names(tmp_path) == []


@contextmanager
def entry(monkeypatch, address, checksum=SHA):
    """FilmTrust's entry in the catalogue, with another address."""
    there = replace(
        DATASETS["filmtrust"], downloads=(Download(address, "filmtrust.zip", checksum),)
    )
    monkeypatch.setitem(DATASETS, "filmtrust", there)
    yield there


def test_without_a_network_the_hint_says_what_to_do_by_hand(monkeypatch, tmp_path):
    with entry(monkeypatch, "http://127.0.0.1:9/filmtrust.zip") as dataset:
        with pytest.raises(DownloadError, match=r"cannot be reached: .*refused") as caught:
            fetch_dataset(dataset, tmp_path)
        note = caught.value.hint
        assert "open http://127.0.0.1:9/filmtrust.zip" in note
        assert str(tmp_path / "filmtrust" / "filmtrust.zip") in note
        assert not list((tmp_path / "filmtrust").iterdir())


@pytest.mark.parametrize("name", ["netflix", "bookcrossing"])
def test_data_sets_without_downloads_say_how_to_get_them(tmp_path, name):
    with pytest.raises(DownloadError, match="cannot be downloaded by a program") as caught:
        fetch_dataset(DATASETS[name], tmp_path)
    assert str(tmp_path / name) in caught.value.hint


def test_existing_files_are_not_fetched_again(serve, monkeypatch, tmp_path):
    site = serve()
    with entry(monkeypatch, site.address) as dataset:
        assert [path.name for path in fetch_dataset(dataset, tmp_path)] == ["filmtrust.zip"]
        assert fetch_dataset(dataset, tmp_path) == []
    assert len(site.asked) == 1


def test_an_unwritable_folder_raises_a_download_error(serve, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch_file(Download(serve().address, "set.zip"), tmp_path / "file")


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_ctrl_c_leaves_nothing_and_exits_with_130(serve, tmp_path):
    site = serve(pause=0.05)
    program = (
        "import sys\n"
        "from dataclasses import replace\n"
        "from boolrank.data import DATASETS, Download\n"
        "from boolrank.cli import main\n"
        f"there = (Download({site.address!r}, 'filmtrust.zip', {SHA!r}),)\n"
        "DATASETS['filmtrust'] = replace(DATASETS['filmtrust'], downloads=there)\n"
        "main(sys.argv[1:])"
    )
    call = [sys.executable, "-c", program, "datasets", "fetch", "filmtrust"]
    place = tmp_path / "filmtrust"
    env = os.environ | {"BOOLRANK_DATA": str(tmp_path)}
    child = subprocess.Popen(call, stderr=subprocess.PIPE, env=env)
    with child:
        until = time.monotonic() + 30
        while not list(place.glob(".*")) and time.monotonic() < until:
            time.sleep(0.01)
        assert list(place.glob(".*"))
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert b"Traceback" not in err
    assert names(place) == []
    site.pause = 0.0
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=env)
    assert "2,097,152 bytes" in done.stderr
    assert "Please cite: G. Guo" in done.stderr
    assert (place / "filmtrust.zip").read_bytes() == BODY
