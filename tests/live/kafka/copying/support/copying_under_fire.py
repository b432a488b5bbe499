"""The copying application while its members are held, stopped, killed, restarted, and come and go, so that its group
rebalances all the while, and members go on in the middle of a transaction that is no business of theirs any more."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from copiers import Copier, Job
from copy_settings import POINTS

NAMES = ("a", "b", "c")
HELD, STOPPED, FROZEN, KILLED, LEFT = "held", "stopped", "frozen", "killed", "left"
"""At a point of its transaction: the application stands still for longer than it may between two polls; the process for
longer than its session; it is killed, and started again. Anywhere: it stands still for a time that may be longer than
its session, or not; it leaves, and comes back."""
FAULTS = (HELD, STOPPED, KILLED, LEFT, STOPPED, FROZEN, HELD, KILLED)
FED = 40


@dataclass
class Fire:
    """`faults` members are struck, one after the other, each after `fed` records for each partition; `settings` are
    theirs; `also` is called after each fault, and says whether it has struck a broker; `patience_s`: for a member to
    come to the point where it is struck, without which it is struck anywhere."""

    job: Job
    chance: random.Random
    settings: dict[str, Any]
    faults: int = len(FAULTS)
    fed: int = FED
    also: Callable[[int], bool] = lambda number: False
    patience_s: float = 6.0
    everybody: list[Copier] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)

    def burn(self) -> None:
        """Strike, then let all go on until every record is copied, and stop them."""
        members = {name: self._start(name) for name in NAMES}
        try:
            for number in range(self.faults):
                self.job.add(self.fed)
                name = self.chance.choice(NAMES)
                members[name] = self._strike(FAULTS[number % len(FAULTS)], members[name])
                if self.also(number):
                    members = {name: self._revived(member) for name, member in members.items()}
            self.job.until_done(90)
            for member in members.values():
                member.finish()
        finally:
            for member in self.everybody:
                member.kill()

    def failures(self) -> Counter[str]:
        """How often each call of the producers failed, and whether that was fatal."""
        return Counter(
            f"{event['failed']}{' fatally' if event['fatal'] else ''}"
            for member in self.everybody
            for event in member.all("failed")
        )

    def transactions(self) -> int:
        """How many transactions have committed."""
        return sum(len(member.all("committed")) for member in self.everybody)

    def _start(self, name: str) -> Copier:
        member = self.job.member(name, **self.settings)
        self.everybody.append(member)
        return member

    def _strike(self, fault: str, member: Copier) -> Copier:
        """The member, or the one that was started in its place."""
        session_s, interval_s = member.settings.session_ms / 1000, member.settings.poll_interval_ms / 1000
        # Stopped before its offsets are sent, it is refused: sent in time they would count.
        points = {HELD: POINTS[1:], STOPPED: POINTS[1:2], KILLED: POINTS[1:]}.get(fault)
        is_there = points is not None and self._hold(member, self.chance.choice(points))
        self.struck[f"{fault} in a transaction" if is_there else fault] += 1
        if fault == HELD:
            time.sleep(interval_s + self.chance.uniform(0.5, 1.5))
        elif fault in (STOPPED, FROZEN):
            member.pause()
            time.sleep(self.chance.uniform(0.2, 1.5) + session_s * (fault == STOPPED))
            member.resume()
            time.sleep(self.chance.uniform(0.0, 0.5))
        elif fault == KILLED:
            member.kill()
            return self._start(member.settings.name)
        else:
            member.finish()
            return self._start(member.settings.name)
        member.go()
        return member

    def _revived(self, member: Copier) -> Copier:
        """The member; or one in its place, as an operator starts it, if nothing more is heard of it: because it has no
        partition, or because it hangs. After the only broker was killed and started again, librdkafka 2.16 did not
        return from send_offsets_to_transaction() within 60 s, although the time-out of the call was 20 s."""
        heard = len(member.events)
        with contextlib.suppress(TimeoutError):
            self.job.until(lambda: len(member.events) > heard, self.patience_s)
            return member
        self.struck["silent"] += 1
        member.kill()
        return self._start(member.settings.name)

    def _hold(self, member: Copier, point: str) -> bool:
        """Whether it has come to that point of its transaction: without a partition it does not."""
        member.hold(point)
        try:
            member.until("at", patience_s=self.patience_s)
        except TimeoutError:
            return False
        return True
