"""The desk in a real browser: edits are proved there as by the command, and a link opens an edit with its verdict."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, Browser, browser
from command_line import fencepost
from desk_edits import EDITS, by_command, edited, unpacked
from fencepost.proofs.cli.desk import HOST, Served
from firefox import FIREFOX, WHY_NO_FIREFOX, Firefox, firefox

pytestmark = pytest.mark.nightly
LARGEST = 30_000_000
SECONDS = 240
Window = Browser | Firefox


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("desk")
    ran = fencepost("desk", made)
    if " cannot be had: " in ran.err:
        pytest.skip(ran.err)
    assert ran.code == 0, ran.err
    assert sum(file.stat().st_size for file in made.rglob("*")) < LARGEST
    return made


class Counting(Served):
    """A server that has the paths that it was asked for in `asked`."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address at which the folder is served, and the paths that are asked for there."""
    handler = type("Handler", (Counting,), {"asked": []})
    with ThreadingHTTPServer((HOST, 0), partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_address[1]}/", handler.asked
        server.shutdown()


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with served(folder) as (address, _):
        yield address


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def window(url: str, request: pytest.FixtureRequest) -> Iterator[Window]:
    if request.param == "firefox" and FIREFOX is None:
        pytest.skip(WHY_NO_FIREFOX)
    if request.param == "chromium" and (BROWSER is None or DRIVER is None):
        pytest.skip(WHY_NOT)
    with browser() if request.param == "chromium" else firefox() as found:
        found.resize(1400, 1000)
        found.open(url)
        until(found, "document.documentElement.dataset.ready")
        yield found


def until(window: Window, script: str) -> None:
    """As `Browser.until`, for what takes Z3 its time."""
    end = time.monotonic() + SECONDS
    while not window.run(f"return Boolean({script})"):
        assert time.monotonic() < end, (script, window.text("body"))
        time.sleep(0.2)


def proved(window: Window) -> dict[str, str]:
    until(window, "document.documentElement.dataset.answer || document.querySelector('#mistake').innerText")
    assert window.text("#mistake") == ""
    return dict(json.loads(window.run("return document.documentElement.dataset.answer")))


def link(edit: tuple[str, str, str, str], folder: Path) -> str:
    """The address that the page gives an edit, by its own functions."""
    was = (folder / "rules" / f"{edit[1]}.txt").read_text(encoding="utf-8")
    old, new = was.split("\n"), was.replace(edit[2], edit[3]).split("\n")
    start = next(at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    end = next(at for at, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b)
    end = min(end, min(len(old), len(new)) - start)
    return json.dumps([edit[1], was, start, len(old) - end, new[start : len(new) - end]])


HASHED = """
const [path, was, from, to, lines] = JSON.parse(arguments[0]);
let found = 0x811c9dc5;
for (let at = 0; at < was.length; at++) found = Math.imul(found ^ was.charCodeAt(at), 0x01000193) >>> 0;
const text = JSON.stringify([[path, found.toString(36), from, to, lines]]);
const edit = btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_");
return `#${new URLSearchParams({ at: arguments[1], file: path, edit: edit.replace(/=+$/, ""), do: "prove" })}`;
"""


@pytest.mark.timeout(2 * SECONDS + 60)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}: {edit[2].strip()[:30]}")
def test_an_edit_has_the_verdicts_of_the_command(
    window: Window, url: str, folder: Path, tmp_path: Path, edit: tuple[str, str, str, str]
) -> None:
    package = unpacked((folder / "python.zip").read_bytes(), tmp_path)
    assert edited(package, edit)
    window.run("delete document.documentElement.dataset.answer")  # of the edit before, which the same page had
    window.open(url + str(window.run(HASHED, link(edit, folder), edit[0])))
    assert proved(window) == by_command(package, edit)
    assert window.complaints() == []


@pytest.mark.timeout(2 * SECONDS)
def test_the_first_question_is_answered_and_can_be_linked_to(window: Window, url: str) -> None:
    window.open("about:blank")
    window.open(url)
    window.until("document.querySelector('#change')")
    assert window.text("#asks") == "What if the answer left before the commit? Change one line and see."
    window.click("#change")
    verdicts = proved(window)
    assert verdicts["granted_is_booked"] == "violated" and verdicts["persisted_once"] == "holds"
    assert window.count("#run .step") == 1 and "answer" in window.text("#run")
    before = window.url()
    window.open("about:blank")
    window.open(before)
    assert proved(window) == verdicts and window.url() == before


LEAKS = """
import js, pyodide.code, urllib.request
for leak in (
    lambda: js.fetch(PLACE), lambda: js.importScripts(PLACE), lambda: js.Worker.new(PLACE),
    lambda: js.EventSource.new(PLACE),
    lambda: pyodide.code.run_js(f"import('{PLACE}')"), lambda: pyodide.code.run_js(f"fetch('{PLACE}')"),
    lambda: js.WebSocket.new(PLACE.replace("http", "ws")), lambda: urllib.request.urlopen(PLACE, timeout=1),
):
    try:
        leak()
    except Exception as refused:
        pass
"""


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_an_edited_rule_reaches_no_other_host(window: Window, folder: Path, tmp_path: Path, is_guarded: bool) -> None:
    """Nor this one, once the page is ready. Without the page's policy and the worker's, it does."""
    if not is_guarded:
        folder = shutil.copytree(folder, tmp_path / "unguarded")
        for name, guard in (("index.html", "Content-Security-Policy"), ("worker.js", "Object.defineProperty(self")):
            text = (folder / name).read_text(encoding="utf-8")
            assert text.count(guard) == 1
            (folder / name).write_text(text.replace(guard, guard.replace("Policy", "None").replace("(self", "({}")))
    first = "class Kraft("
    with served(tmp_path) as (elsewhere, asked), served(folder) as (own, own_asked):
        window.open(own)
        until(window, "document.documentElement.dataset.ready")
        before = len(own_asked)
        leaks = LEAKS.replace("PLACE", repr(f"{elsewhere}leak"))
        edit = (*EDITS[0][:2], first, f"{leaks}\n{first}")
        window.open("about:blank")
        window.open(own + str(window.run(HASHED, link(edit, folder), edit[0])))
        assert proved(window)["no_id_twice"] == "holds"
        assert bool(asked) is not is_guarded
        assert [path for path in own_asked[before:] if "leak" in path] == []


@pytest.mark.timeout(2 * SECONDS)
def test_it_can_be_stopped_and_goes_on(window: Window, url: str) -> None:
    window.open("about:blank")
    window.open(url)
    window.until("document.querySelector('#change')")
    window.click("#prove")
    window.click("#stop")
    assert "stopped" in window.text("#state") and window.count("#verdicts li") == 0
    until(window, "document.documentElement.dataset.ready && document.querySelector('#state').innerText === 'ready'")


@pytest.mark.parametrize(("width", "height"), [(500, 800), (1400, 1000)])
def test_nothing_is_cut_off(window: Window, url: str, width: int, height: int) -> None:
    window.resize(width, height)
    window.open("about:blank")
    window.open(url)
    window.until("document.querySelector('#change')")
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    names = window.run("return [...document.querySelectorAll('select, button')].filter((one) => "
                       "!(one.labels?.length || one.innerText.trim() || one.ariaLabel)).length")  # fmt: skip
    assert names == 0
    window.resize(1400, 1000)


@pytest.mark.timeout(2 * SECONDS)
def test_the_second_visit_needs_no_server(window: Window, folder: Path) -> None:
    server = ThreadingHTTPServer((HOST, 0), partial(Served, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{HOST}:{server.server_address[1]}/"
    window.open(url)
    until(window, "document.documentElement.dataset.ready")
    server.shutdown()
    server.server_close()
    window.open("about:blank")
    window.open(url)
    until(window, "document.documentElement.dataset.ready")
    assert "What if the answer left" in window.text("#asks")
