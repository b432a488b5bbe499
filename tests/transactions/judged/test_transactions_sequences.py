"""The partition's handling of a batch is computed a second time, with a broker's list of last batches."""

from collections import Counter, deque
from typing import Any

import pytest
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event
from fencepost.properties.catalogue import protocols
from txn_walks import walks

ENTRY = protocols()["idempotence"]
BOUNDS = {"sends": 5, "numbers": 6, "epochs": 2, "transactions": 3, "window": 2, "most": 2, "losses": 9}


class Partition:
    """A `Partition` has the producer's epoch, and its last batches under that epoch."""

    def __init__(self, window: int) -> None:
        self.epoch, self.last = 0, -1
        self.batches: deque[int] = deque(maxlen=window)

    def verdict(self, epoch: int, number: int) -> str:
        """Return what happens to a batch that arrives now."""
        if epoch == self.epoch and number in self.batches:
            return "know_again"
        if epoch < self.epoch:
            return "older epoch"
        follows = number == self.last + 1 if epoch == self.epoch else number == 0
        return "write" if follows else "out of order"

    def write(self, epoch: int, number: int) -> None:
        if epoch != self.epoch:
            self.start(epoch)
        self.last = number
        self.batches.append(number)

    def start(self, epoch: int) -> None:
        self.epoch, self.last = epoch, -1
        self.batches.clear()


def in_the_model(plain: Plain, state: dict[str, Any], batch: tuple[int, int]) -> list[str]:
    """Return the actions by which a batch may arrive."""
    parameters = dict(zip(("a", "e"), batch, strict=True))
    return [name for name in ("write", "know_again") if plain.enabled(state, Event(name, parameters))]


@pytest.mark.parametrize("name", ["idempotent", "same-epoch", "new-epoch"])
def test_the_window_is_a_list_of_the_last_batches(name: str) -> None:
    variant = ENTRY.variant(name)
    plain = Plain(variant.spec, {n: BOUNDS[n] for n in variant.spec.constants}, BOUNDS)
    seen: Counter[str] = Counter()
    for run in walks(variant, BOUNDS, seed=1, runs=40, steps=40):
        partition = Partition(BOUNDS["window"])
        for before, event, after in run:
            for batch in before["sent"]:
                reported = partition.verdict(batch[1], before["number"].get(batch, 0))
                assert in_the_model(plain, before, batch) == ([reported] if reported in ("write", "know_again") else [])
                seen[reported] += 1
            if event.action == "write":
                batch = (event.parameters["a"], event.parameters["e"])
                partition.write(batch[1], before["number"].get(batch, 0))
            if event.action == "end" and name == "new-epoch":
                partition.start(after["epoch"])
    assert seen.keys() == {"write", "know_again", "older epoch", "out of order"}
    assert min(seen.values()) > 20


class Forgetful(Partition):
    """This partition is behind a leader that may restart, lose an unreplicated tail, and forget its producer."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self.blank = False
        self.replica: tuple[int, int, bool] = (0, -1, False)

    def verdict(self, epoch: int, number: int) -> str:
        return "write" if self.blank else super().verdict(epoch, number)

    def write(self, epoch: int, number: int) -> None:
        if self.blank:
            self.start(epoch)
        super().write(epoch, number)
        self.blank = False

    def replicate(self) -> None:
        self.replica = (self.epoch, self.last, self.blank)

    def restart(self, first: int) -> None:
        for number in [n for n in self.batches if n < first]:
            self.batches.remove(number)

    def lose_tail(self) -> None:
        epoch, last, self.blank = self.replica
        self.start(epoch)
        self.last = last
        if last >= 0:
            self.batches.append(last)

    def expire(self) -> None:
        self.blank = True
        self.replica = (*self.replica[:2], True)


@pytest.mark.parametrize("name", ["forgetful-giving-up", "forgetful-one-under-way", "restarted", "expired-too-soon"])
def test_what_a_forgetful_leader_knows_is_a_shorter_list(name: str) -> None:
    variant = ENTRY.variant(name)
    one = name == "forgetful-one-under-way"
    bounds = {**BOUNDS, "epochs": 3, "most": 1 if one else 2, "restarts": 3, "fail_overs": 3, "expiries": 2}
    plain = Plain(variant.spec, {n: bounds[n] for n in variant.spec.constants}, bounds)
    seen: Counter[str] = Counter()
    for run in walks(variant, bounds, seed=2, runs=120, steps=40):
        partition = Forgetful(bounds["window"])
        for before, event, _ in run:
            for batch in before["sent"].keys() - before["died"].keys():
                reported = partition.verdict(batch[1], before["number"].get(batch, 0))
                assert in_the_model(plain, before, batch) == ([reported] if reported in ("write", "know_again") else [])
                seen[reported] += 1
            seen[event.action] += 1
            if event.action == "write":
                batch = (event.parameters["a"], event.parameters["e"])
                partition.write(batch[1], before["number"].get(batch, 0))
            elif event.action == "restart":
                partition.restart(event.parameters["n"])
            elif event.action in ("replicate", "lose_tail", "expire"):
                getattr(partition, event.action)()
    faults = ("restart", "lose_tail", "expire")
    assert min(seen[what] for what in (*faults, "write", "know_again", "older epoch", "out of order")) > 10
