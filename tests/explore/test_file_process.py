"""Files that are drawn or typeset: made in a process that ends, with limits, and never in the server's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from mapapp.base import memory_limits
from mapapp.base.watch import LEFT, Refused
from mapapp.explore.downloads.files import FILES, File
from mapapp.explore.processes import file_process
from mapapp.explore.processes.file_process import FileProcess
from mapapp.explore.processes.messages import Asked
from mapapp.explore.server import create_app, listen
from tests.explore.listening import wait_until
from tests.releases import write_release

ROOT = Path(__file__).parents[2]
AREA = "area=county:10001"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    app = create_app([write_release(tmp_path_factory.mktemp("files") / "squareland")])
    server, _ = listen(app, port=0)
    yield app
    files_of(app).stop()
    server.close()
    server.task_dispatcher.shutdown()


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are drawn cannot be made in this process."""

    def breaks(*_: Any) -> None:
        raise AssertionError("made in the server's own process")

    for name in FILES:
        if name.startswith(file_process.DRAWN):
            monkeypatch.setitem(FILES, name, File("text/plain", breaks))


def files_of(app: Any) -> FileProcess:
    found = app.server.extensions["commutemap file process"]
    assert isinstance(found, FileProcess)
    return found


def get(app: Any, name: str, query: str = AREA) -> Any:
    release = app.server.extensions["commutemap"].releases["squareland"]
    with app.server.test_client().get(f"/take/squareland/{release.version}/{name}?{query}") as answer:
        answer.get_data()
        return answer


def stopped(app: Any) -> int:
    """Stop the process, so that it takes no step at which it could end its work; returns its number."""
    get(app, "map.svg")
    process = files_of(app).process_id
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    os.waitpid(process, os.WUNTRACED)
    return process


def fonts_open() -> list[str]:
    links = Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ()
    found = [os.readlink(link) for link in links if link.is_symlink()]
    return [name for name in found if name.endswith((".ttf", ".otf"))]


def test_the_process_makes_what_is_drawn_and_the_server_keeps_nothing_open(app: Any) -> None:
    before = fonts_open()
    for name, start in (("report.pdf", b"%PDF"), ("report.html", b"<!"), ("map.png", b"\x89PNG")) * 2:
        answer = get(app, name)
        assert (answer.status_code, answer.get_data()[: len(start)]) == (200, start)
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert get(app, "chart.svg").get_data().startswith(b"<?xml")
    assert get(app, "report.xlsx").get_data().startswith(b"PK")
    assert fonts_open() == before
    assert get(app, "report.pdf", "area=nowhere:1").status_code == 400
    assert get(app, "report.pdf", "").get_data(as_text=True) == "A report needs an area. Choose one first.\n"


def test_it_ends_after_some_files_and_when_idle(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(app)
    files.stop()
    monkeypatch.setattr(file_process, "MOST_FILES", 2)
    get(app, "map.svg")
    first = files.process_id
    assert first is not None
    get(app, "map.svg")
    assert files.process_id is None, "its memory is returned with it"
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    monkeypatch.setattr(file_process, "IDLE_S", 0.1)
    get(app, "map.svg")
    wait_until(lambda: files.process_id is None, "the idle process ends")


def test_one_that_takes_too_long_is_stopped_and_the_next_is_made(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = stopped(app)
    with monkeypatch.context() as limits:
        limits.setattr(file_process, "MAX_SECONDS", 0.0)
        answer = get(app, "report.pdf")
    assert (answer.status_code, answer.get_data(as_text=True)) == (
        503,
        "This takes too long for a page; choose a smaller area, or use the command line.\n",
    )
    assert files_of(app).process_id is None
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert get(app, "report.pdf").status_code == 200


def test_it_stops_when_its_visitor_leaves(app: Any) -> None:
    stopped(app)
    with pytest.raises(Refused) as refused:
        files_of(app).ask(Asked({}, b"", {}), lambda: True)
    assert refused.value.status == LEFT
    assert files_of(app).process_id is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_one_that_takes_too_much_memory_is_stopped_and_the_next_is_made(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_of(app).stop()
    with monkeypatch.context() as limits:
        limits.setattr(memory_limits, "FILE_PROCESS_BYTES", 4 << 20)
        answer = get(app, "report.pdf")
    assert (answer.status_code, answer.get_data(as_text=True)) == (
        413,
        "This file takes too much memory to make here. Choose a smaller area, or use the command line.\n",
    )
    files_of(app).stop()
    assert get(app, "report.pdf").status_code == 200


def test_neither_the_process_nor_its_folder_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    release = write_release(tmp_path / "squareland")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", SERVED, str(release)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        version, address = server.stdout.readline().split()
        with urlopen(f"{address}take/squareland/{version}/report.pdf?{AREA}", timeout=120) as answer:
            assert answer.read(4) == b"%PDF"
        server.stdin.write("\n")
        server.stdin.flush()
        process, *loaded = server.stdout.readline().split()
        assert loaded == [], "the server's own process has loaded what draws"
        assert list(temporary.iterdir())
        server.send_signal(signal.SIGKILL)
        server.wait()

    def is_gone() -> bool:
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return not list(temporary.iterdir())
        return False

    wait_until(is_gone, "the process has ended, and its folder is removed")


SERVED = """
import sys
import threading
from pathlib import Path
from mapapp.explore.server import create_app, listen
app = create_app([Path(sys.argv[1])])
server, address = listen(app, port=0)
print(app.server.extensions["commutemap"].releases["squareland"].version, address, flush=True)
threading.Thread(target=server.run, daemon=True).start()
sys.stdin.readline()
process = app.server.extensions["commutemap file process"].process_id
print(process, *({"matplotlib", "typst", "numba"} & {*sys.modules}), flush=True)
sys.stdin.readline()
"""
