"""What a killed test run has started ends with it."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from fencepost.reference_impl.live.clusters.ending import Entering, temporary

TESTS = Path(__file__).parent
PATIENCE_S = 20.0
RUN = """
import sys
from fencepost.reference_impl.live.clusters.ending import started
node = started(["sleep", "600"], start_new_session=True)
print(node.pid, flush=True)
sys.stdin.read()
"""


def is_running(node: Path) -> bool:
    """Has it begun, and not ended?  Of a zombie nothing is to be read."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return node.read_bytes().startswith(b"sleep")
    return False


def waited_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_what_a_killed_run_started_ends_with_it(end: str) -> None:
    """Though it is in a session of its own, as brokers are, so that Ctrl-C does not reach it."""
    words = [sys.executable, "-c", RUN]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        node = Path(f"/proc/{int(run.stdout.readline())}/cmdline")
        assert waited_for(lambda: is_running(node))
        getattr(run, end)()
    assert waited_for(lambda: not is_running(node))


FOLDER = """
import sys
from fencepost.reference_impl.live.clusters.ending import temporary
with temporary(sys.argv[1]) as folder:
    (folder / "log").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_the_folder_of_a_killed_run_is_removed_by_the_next(end: str, tmp_path: Path, monkeypatch: Any) -> None:
    """And no folder of a run that lives, nor one that no run has made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words, foreign = [sys.executable, "-c", FOLDER, "made-"], tmp_path / "made-by-others"
    foreign.mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(words, **pipes) as killed, subprocess.Popen(words, **pipes) as living:
        left, used = (Path(run.stdout.readline().strip()) for run in (killed, living))
        with temporary("made-") as mine:
            assert {*tmp_path.iterdir()} == {left, used, mine, foreign}
        getattr(killed, end)()
        killed.wait()
        assert (left / "log").exists()
        with temporary("made-") as mine:
            assert {*tmp_path.iterdir()} == {used, mine, foreign}
        living.communicate("")
    assert [*tmp_path.iterdir()] == [foreign]


def test_brokers_are_started_so() -> None:
    """A process in a session of its own is one that nothing else ends."""
    wheel = TESTS.parent / "reference_impl" / "live"
    servers = [
        *(TESTS / "live").rglob("*.py"),
        *wheel.rglob("*.py"),
        TESTS / "proofs" / "scale" / "support" / "standalone.py",
    ]
    own_sessions = [path for path in servers if "start_new_session" in path.read_text(encoding="utf-8")]
    assert len(own_sessions) > 2
    for path in own_sessions:
        assert re.search(r"clusters\.ending import .*\bstarted\b", path.read_text(encoding="utf-8")), path


def test_a_context_that_does_not_start_ends_what_it_has_entered() -> None:
    ended = []

    class Failing(Entering):
        def _start(self, stack: ExitStack) -> None:
            stack.callback(ended.append, "entered")
            raise OSError("no start")

    with pytest.raises(OSError, match="no start"), Failing():
        pass
    assert ended == ["entered"]
