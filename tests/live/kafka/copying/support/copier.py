"""A member of a consume-transform-produce application, in a process of its own: it copies an input topic to an output
topic, partition by partition, each batch and its offsets in one transaction, as the clients' own examples do.

Run as a program it reads commands from standard input (`hold POINT`, `go`, `look`, `finish`) and writes what happens to
standard output, one JSON object a line. `copiers.py` is the other end.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from typing import Any

from copy_client import AbortableError, FatalError, make_client
from copy_settings import AT_POLL, AT_SEND, LEFT_OUT, POINTS, Settings

RESTART_S = 0.2


class Member:
    """The application's loop. Points where it can be held: see POINTS."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.client = make_client(settings)
        self.attempt = 0
        self.held: set[str] = set()
        self.changed = threading.Condition()
        self.finishing = threading.Event()

    def run(self) -> None:
        """Until `finish`."""
        self._restarted()
        while not self.finishing.is_set():
            batch = self.client.poll(self.settings.batch)
            at_poll = self.client.metadata() if self.settings.metadata == AT_POLL else None
            if not batch:
                continue
            if self.settings.pace_s:
                time.sleep(self.settings.pace_s)
            try:
                self._copy(batch, at_poll)
            except AbortableError as error:
                tell(failed=error.call, code=error.code, fatal=False, text=str(error))
                self._abort()
            except FatalError as error:
                tell(failed=error.call, code=error.code, fatal=True, text=str(error))
                self.client.renew()
                self._restarted()
                self.client.rewind()
        self.client.close()
        tell(ended=True)

    def _copy(self, batch: list[tuple[int, int]], at_poll: Any) -> None:
        self.attempt += 1
        self._point("polled", batch)
        self.client.begin()
        for partition, offset in batch:
            self.client.send(partition, json.dumps([partition, offset, self.settings.name, self.attempt]).encode())
        self.client.flush()
        self._point("sent", batch)
        metadata = at_poll if self.settings.metadata == AT_POLL else None
        if self.settings.metadata == AT_SEND:
            metadata = self.client.metadata()
        elif self.settings.metadata == LEFT_OUT:
            metadata = self.client.no_metadata()
        self.client.send_offsets({partition: offset + 1 for partition, offset in sorted(batch)}, metadata)
        self._point("offsets", batch)
        self.client.commit()
        tell(committed=batch, attempt=self.attempt)

    def _abort(self) -> None:
        try:
            self.client.abort()
        except (AbortableError, FatalError) as error:
            tell(failed=error.call, code=error.code, fatal=True, text=str(error))
            self.client.renew()
            self._restarted()
        self.client.rewind()

    def _restarted(self) -> None:
        """A new producer takes the transactional id over; as often as it takes."""
        while not self.finishing.is_set():
            try:
                self.client.init()
                return
            except (AbortableError, FatalError) as error:
                tell(failed=error.call, code=error.code, fatal=True, text=str(error))
                time.sleep(RESTART_S)
                self.client.renew()

    def _point(self, name: str, batch: list[tuple[int, int]]) -> None:
        with self.changed:
            if name in self.held:
                tell(at=name, batch=batch)
                self.changed.wait_for(lambda: name not in self.held)

    def command(self, line: str) -> None:
        """One line of standard input."""
        verb, _, argument = line.strip().partition(" ")
        if verb == "hold":
            assert argument in POINTS, argument
            with self.changed:
                self.held.add(argument)
        elif verb == "go":
            self._release()
        elif verb == "look":
            tell(look=self.client.look())
        elif verb == "finish":
            self.finishing.set()
            self._release()

    def _release(self) -> None:
        with self.changed:
            self.held.clear()
            self.changed.notify_all()


TELLING = threading.Lock()


def tell(**event: Any) -> None:
    """One line of standard output."""
    with TELLING:
        print(json.dumps(event), flush=True)


def listen(member: Member) -> None:
    """Commands until standard input ends, and with it the test."""
    for line in sys.stdin:
        member.command(line)
    member.command("finish")


if __name__ == "__main__":
    member = Member(Settings(**json.loads(sys.argv[1])))
    threading.Thread(target=listen, args=(member,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        member.run()
