"""A member of a consume-transform-produce application, in a process of its own: it copies an input topic to an output
topic, partition by partition, each batch and its offsets in one transaction, as the clients' own examples do.

Run as a program it reads commands from standard input (`hold POINT`, `go`, `look`, `finish`) and writes what happens to
standard output, one JSON object a line. `copiers.py` is the other end. Lines with a `kind` are what `fencepost record
--protocol group-fencing` reads of a member: written down before it is done, or when it was told.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from copy_client import AbortableError, FatalError, Membership, make_client
from copy_settings import AT_POLL, AT_SEND, LEFT_OUT, POINTS, Settings

RESTART_S = 0.2
ABORT, COMMIT = 0, 1
NO_CODE = -1
LOOKS = 5


class Member:
    """The application's loop. Points where it can be held: see POINTS. `attempt` counts its transactions."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.diary = Diary(settings.client)
        self.diary.note("instance_started", slot=settings.name)
        self.client = make_client(settings, self.diary.note)
        self.attempt = 0
        self.held: set[str] = set()
        self.changed = threading.Condition()
        self.finishing = threading.Event()
        self.known = Membership(-1, "")

    def run(self) -> None:
        """Until `finish`."""
        self._restarted()
        while not self.finishing.is_set():
            before = self.client.metadata()
            batch = self.client.poll(self.settings.batch)
            if batch and self._is_another(before):
                self.client.rewind()
                continue
            self._handed(batch)
            if not batch:
                continue
            self._point("handed", batch)
            metadata = before if self.settings.metadata == AT_POLL else self.client.metadata()
            if self.settings.pace_s:
                time.sleep(self.settings.pace_s)
            try:
                self._copy(batch, metadata)
            except AbortableError as error:
                tell(failed=error.call, code=error.code, fatal=False, text=str(error))
                self._abort()
            except FatalError as error:
                tell(failed=error.call, code=error.code, fatal=True, text=str(error))
                self.client.renew()
                self._restarted()
                self.client.rewind()
        self.diary.note("left")
        self.client.close()
        self.diary.note("instance_stopped")
        tell(ended=True)

    def _is_another(self, before: Any) -> bool:
        """Whether its membership changed while it polled, or it has none. Then the records have no certain owner."""
        reported = self.client.said(before)
        changed = reported.generation < 0 or reported != self.client.said(self.client.metadata())
        return self.settings.metadata == AT_POLL and changed

    def _handed(self, batch: list[tuple[int, int]]) -> None:
        """Take note of these records, and of the membership with which it has them."""
        now = self.client.said(self.client.metadata())
        if now != self.known and now.member and now.generation >= 0:
            self.diary.note("joined", **now._asdict())
        self.known = now
        if batch:
            generation = self._generation({partition for partition, _ in batch})
            of = {} if generation is None else {"generation": generation}
            for partition, offset in batch:
                self.diary.note("consumed", partition=partition, offset=offset, **of)

    def _generation(self, partitions: set[int]) -> int | None:
        """In which it begins to work on records of these, as their owner; None if it can't tell. Before and after it
        looks at what it owns it has to be in the same one: under the new protocol that changes in the background."""
        for _ in range(LOOKS):
            before = self.client.said(self.client.metadata())
            owned = self.client.look().get("assignment")
            if before.generation >= 0 and before == self.client.said(self.client.metadata()):
                return before.generation if owned is None or partitions <= set(owned) else None
        return None

    def _copy(self, batch: list[tuple[int, int]], metadata: Any) -> None:
        self._point("polled", batch)
        self.attempt += 1
        self.diary.note("txn_begun")
        self.client.begin()
        for partition, offset in batch:
            self.diary.note("output_sent", output=partition, partition=partition, offset=offset)
            self.client.send(partition, json.dumps([partition, offset, self.settings.name, self.attempt]).encode())
        self.client.flush()
        self._point("sent", batch)
        if self.settings.metadata == AT_SEND:
            metadata = self.client.metadata()
        elif self.settings.metadata == LEFT_OUT:
            metadata = self.client.no_metadata()
        offsets = {partition: offset + 1 for partition, offset in sorted(batch)}
        for partition, offset in offsets.items():
            reported = self.client.said(metadata)._asdict()
            self.diary.note("offset_sent", partition=partition, offset=offset, **reported)
        self.client.send_offsets(offsets, metadata, f"{self.settings.client}/{self.attempt}")  # of which transaction
        self._point("offsets", batch)
        with self._ending(COMMIT):
            self.client.commit()
        tell(committed=batch, attempt=self.attempt)

    def _abort(self) -> None:
        try:
            with self._ending(ABORT):
                self.client.abort()
            if self.client.renews:
                self._restarted()
        except (AbortableError, FatalError) as error:
            tell(failed=error.call, code=error.code, fatal=True, text=str(error))
            self.client.renew()
            self._restarted()
        self.client.rewind()

    @contextlib.contextmanager
    def _ending(self, outcome: int) -> Iterator[None]:
        self.diary.note("end_sent", outcome=outcome)
        with self._answered("end_told", outcome=outcome):
            yield

    @contextlib.contextmanager
    def _answered(self, kind: str, **columns: Any) -> Iterator[None]:
        """What is done within is answered; errors are those of its producer."""
        try:
            yield
        except (AbortableError, FatalError) as error:
            self.diary.note(kind, error=error.code or NO_CODE, **columns)
            raise
        self.diary.note(kind, **columns)

    def _restarted(self) -> None:
        """A new producer takes the transactional id over; as often as it takes."""
        while not self.finishing.is_set():
            try:
                with self._answered("init_told", txn=self.settings.txn):
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


REPORTING = threading.Lock()


def tell(**event: Any) -> None:
    """One line of standard output."""
    with REPORTING:
        print(json.dumps(event), flush=True)


class Diary:
    """What happens to a client, in its order, with times that do not go back."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._latest = 0

    def note(self, kind: str, **columns: Any) -> None:
        """One event."""
        self._latest = max(self._latest, time.time_ns() // 1000)
        tell(time_us=self._latest, client=self._client, kind=kind, **columns)


def listen(member: Member) -> None:
    """Commands until standard input ends, and with it the test."""
    for line in sys.stdin:
        member.command(line)
    member.command("finish")


if __name__ == "__main__":
    member = Member(Settings(**json.loads(sys.argv[1])))
    threading.Thread(target=listen, args=(member,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        try:
            member.run()
        except BaseException:
            member.diary.note("instance_failed")
            raise
