"""Mistakes are planted in memory: pytest collects the tests of all of them once, and of each mistake a fork of it has
one function with other code, and runs the tests of that mistake.

A test that fails there, and passes in a fork without a mistake, notices the mistake. One that does not may miss it
only because it starts another process, or because something was computed before: then the mistake is to be planted in
a copy.
"""

import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from checked_out import ROOT

WORDS = ("-n", "0", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not nightly")


@dataclass(frozen=True)
class Planted:
    """A function of a file, by its qualified name, the text of the whole file with the mistake, and the files, folders
    and tests that are expected to notice it, in this order."""

    file: str
    function: str
    text: str
    tests: tuple[str, ...]

    def chosen(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return its tests among those that were collected, each once."""
        found = {
            item.nodeid: item for test in self.tests for item in items
            if item.nodeid == test or item.nodeid.startswith((f"{test}[", f"{test}::", f"{test}/"))
        }  # fmt: skip
        return list(found.values())


@dataclass
class Outcome:
    """The tests that failed, and in how many seconds; ``why`` if the fork came to no end of its own."""

    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    why: str = ""


def tried(planted: Sequence[Planted], seconds: float) -> Iterator[Outcome]:
    """Yield what comes of each mistake, each within so many seconds. The tests stop at the first that fails, and those
    that fail without a mistake as well do not count."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        _collect(planted, seconds, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            yield Outcome(**json.loads(line))
    os.waitpid(child, 0)


def _collect(planted: Sequence[Planted], seconds: float, writing: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))  # as `python -m pytest` does
    try:
        tests = dict.fromkeys(test for one in planted for test in one.tests)
        pytest.main([*WORDS, *tests], plugins=[_Forking(planted, seconds, writing)])
    finally:
        os._exit(0)


class _Forking:
    def __init__(self, planted: Sequence[Planted], seconds: float, writing: int) -> None:
        self.planted, self.seconds, self.writing = planted, seconds, writing
        self.failed: list[str] = []
        self.right: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for one in self.planted if session.items else ():
            outcome = self._fork(one.chosen(session.items), one)
            noticed = [item for item in session.items if item.nodeid in outcome.failed]
            if noticed and noticed[0].nodeid not in self.right:
                wrong = self._fork(noticed, None)
                self.right[noticed[0].nodeid] = not wrong.why and not wrong.failed
            if noticed and not self.right[noticed[0].nodeid]:
                outcome.failed = []
            os.write(self.writing, (json.dumps(vars(outcome)) + "\n").encode())
        return True

    def _fork(self, items: Sequence[pytest.Item], planted: Planted | None) -> Outcome:
        reading, writing = os.pipe()
        began = time.monotonic()
        if not (child := os.fork()):
            os.setpgid(0, 0)
            _run(self, items, planted, writing)
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], self.seconds)
        if not ready:
            os.killpg(child, signal.SIGKILL)
        raw = os.read(reading, 1 << 16) if ready else b""
        os.close(reading)
        os.waitpid(child, 0)
        found = json.loads(raw) if raw else {"failed": [], "why": "no end within the limit of time"}
        return Outcome(**found, seconds=round(time.monotonic() - began, 1))


def _run(plugin: _Forking, items: Sequence[pytest.Item], planted: Planted | None, writing: int) -> None:
    why = ""
    try:
        if planted is not None:
            plant(planted)
        for number, item in enumerate(items):
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if plugin.failed and planted is not None:
                break
    except BaseException as error:
        why = f"{type(error).__name__}: {error}"
    os.write(writing, json.dumps({"failed": plugin.failed, "why": "" if plugin.failed else why}).encode())
    os._exit(0)


def plant(planted: Planted) -> None:
    """Give the function the code that it has in the text. Errors: LookupError if there is no such function."""
    name = "fencepost." + planted.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    importlib.import_module(name)
    file = Path(str(sys.modules[name].__file__))
    code = next(_codes(compile(planted.text, str(file), "exec", dont_inherit=True), planted.function))
    found = [
        each for each in gc.get_objects()
        if type(each) is FunctionType and each.__code__.co_qualname == planted.function
        and Path(each.__code__.co_filename) == file
    ]  # fmt: skip
    if not found:
        raise LookupError(f"{planted.file} has no function {planted.function} in memory")
    for each in found:
        each.__code__ = code


def _codes(code: CodeType, name: str) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_qualname == name:
                yield each
            yield from _codes(each, name)
