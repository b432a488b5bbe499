"""This module loads a model again when one of its files is edited, in a process of its own, which takes over the
address once it has the edited model. Until then, and while the edited file is no model, the process before answers.
"""

import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from fencepost.proofs.cli.shared.exits import in_one_line
from fencepost.proofs.explorer.server import Explorer, application, changed_at, server
from fencepost.proofs.scale.jobs import end_with_parent, interrupts_held

LOOK_S = 0.3
"""Files are looked at this often, in seconds; one that changes between two looks is still being written."""
ANSWER_S = 2.0
"""A request that was taken has this long to be answered, in seconds, before another process takes over."""
Load = Callable[[], Explorer]
"""A `Load` loads a model. Another process calls it too, and so must be able to import it."""
Files = Mapping[Path, int]
"""A `Files` has the files of a model, and when each was changed."""


class Answering(Protocol):
    """An `Answering` answers until it is closed, and lets the page say why an edited model was refused."""

    def is_alive(self) -> bool: ...
    def refuse(self, why: str) -> None: ...
    def close(self) -> None: ...


class _Here:
    """A `_Here` answers in this process, in a thread of its own."""

    def __init__(self, explorer: Explorer, listening: socket.socket, token: str) -> None:
        self._explorer = explorer
        self._server = server(partial(application, explorer), listening, token)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def refuse(self, why: str) -> None:
        self._explorer.refused = why

    def close(self) -> None:
        """Take no more requests, and answer those that were taken."""
        self._server.shutdown()
        self._thread.join()
        for thread in threading.enumerate():
            if "process_request" in thread.name:  # it is named by what it runs
                thread.join(ANSWER_S)


class _There:
    """A `_There` loads the model in another process, and answers there after `begin`."""

    def __init__(self, load: Load, listening: socket.socket, token: str, edited: Sequence[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        asked = (load, listening, token, edited, there)
        self._process = context.Process(target=_answer, args=asked, daemon=True)
        with interrupts_held():
            self._process.start()
        there.close()

    def loaded(self, is_stale: Callable[[], bool]) -> Files | str:
        """Return the files of the model, or the line that says why there is none, which is empty if it is not wanted
        any more, as what was edited may load for ever."""
        while not self._pipe.poll(LOOK_S):
            if is_stale():
                self._process.terminate()
                self._process.join()
                return ""
        try:
            found: Files | str = self._pipe.recv()
        except EOFError:
            self._process.join()
            return f"the process that loaded the edited model ended with exit code {self._process.exitcode}"
        return found

    def begin(self) -> None:
        self._pipe.send("")

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def refuse(self, why: str) -> None:
        self._pipe.send(why)

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


def _answer(load: Load, listening: socket.socket, token: str, edited: Sequence[str], asked: Connection) -> None:
    end_with_parent()
    try:
        explorer = load()
    except BaseException as error:  # an edited file may raise anything, and exit as well
        asked.send(in_one_line(error))
        return
    explorer.edited, explorer.reloads = tuple(edited), True
    asked.send(explorer.files)
    with suppress(EOFError):  # the next edition takes over
        asked.recv()
        with closing(_Here(explorer, listening, token)) as answering:
            while True:
                answering.refuse(asked.recv())


def keep_answering(explorer: Explorer, load: Load, listening: socket.socket, token: str) -> None:
    """Answer at an address with a model, and with what ``load`` returns whenever the model was edited. Errors:
    ChildProcessError if the process that answers ends by itself."""
    explorer.reloads = True
    now: Answering = _Here(explorer, listening, token)
    tried: Files = explorer.files
    edited = dict[str, None]()
    while now.is_alive():
        time.sleep(LOOK_S)
        seen = _times(tried)
        if seen == tried:
            continue
        while (later := _times_later(tried)) != seen:
            seen = later
        edited |= {file.name: None for file in tried if seen[file] != tried[file]}
        other = _There(load, listening, token, tuple(edited))
        found = other.loaded(lambda: _times(tried) != seen)  # noqa: B023
        if isinstance(found, str):
            if found:
                now.refuse(found)
                tried = seen
            continue
        now.close()
        other.begin()
        now, tried = other, {file: seen.get(file, then) for file, then in found.items()}
        edited.clear()
    raise ChildProcessError("the process that has the edited model was ended; start fencepost explorer again")


def _times(files: Files) -> Files:
    return {file: changed_at(file) for file in files}


def _times_later(files: Files) -> Files:
    time.sleep(LOOK_S)
    return _times(files)
