"""A coordinator that is deposed and does not know it answers what leaders ask it (KIP-890) from what it remembers."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import ABORT, COMMIT, SOON, TRANSACTION, Asker
from gated import GatedCluster
from kio.schema.errors import ErrorCode as E

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

NEW, DEPOSED, LEADER = 1, 2, 3


class Stage:
    """One transactional id, and the three nodes that it has to do with; after `depose` two of them are out of date.

    `old` coordinates at first, `new` afterwards, and `led` leads the one partition all the time.
    """

    def __init__(self, gated: GatedCluster, style: str) -> None:
        self.gated, self.name, names = gated, "vouched", dict[int, str]()
        gated.create("__transaction_state", (DEPOSED, NEW), cleanup_policy="compact", min_insync_replicas="1")
        gated.create(self.name, (LEADER,))
        self.new, self.old, self.led = (
            Asker(gated.cluster.address(number), self.name, style, names=names) for number in (NEW, DEPOSED, LEADER)
        )
        self.led.until(lambda: not isinstance(self.led.log(), E))
        self.old.until(lambda: self.old.other("ready").init() not in SOON)
        names.clear()

    def depose(self) -> None:
        """Another coordinator takes over; the old one and the leader of the partition hear nothing of it."""
        self.gated.hear_nothing(DEPOSED)
        self.gated.hear_nothing(LEADER)
        self.gated.fence(DEPOSED)
        self.new.until(lambda: self.coordinator(self.new) == NEW)
        self.new.until(lambda: self.new.described() not in SOON)
        assert [self.coordinator(ask) for ask in (self.old, self.led)] == [DEPOSED, DEPOSED]

    def heal(self) -> None:
        """Every node knows who coordinates."""
        self.gated.heal()
        for ask in (self.old, self.led):
            ask.until(lambda ask=ask: self.coordinator(ask) == NEW)  # type: ignore[misc]

    def coordinator(self, ask: Asker) -> int:
        """Who coordinates, as one node knows it."""
        return int(ask.send("find_coordinator", 3, key=self.name, key_type=TRANSACTION).node_id)


@pytest.mark.parametrize("level", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_it_vouches_for_what_was_aborted(jars: Path, tmp_path: Path, level: int) -> None:
    """A defect of Kafka, against txn.15: verification does not defend v1 while two coordinate.

    A record that comes after the ABORT marker of its transaction is asked about, the deposed coordinator says yes, and
    it opens a transaction that no coordinator knows: the last stable offset stays (txn.P10), until the producer's next
    transaction joins it, whose commit commits the record that was aborted (txn.P3).
    """
    with GatedCluster(jars, tmp_path, level) as gated:
        at = Stage(gated, "v1")
        assert at.old.init() == ("A", 0)
        assert at.old.add("A", 0, 0) == E.none
        assert at.led.produce("A", 0, 0) == 0
        at.depose()
        assert at.new.end("A", 0, ABORT) == E.none
        assert at.new.settled() == ("CompleteAbort", 0)
        assert at.led.log() == (["A/0/0", "ABORT"], 2, [])
        assert at.old.described() == ("Ongoing", "A", 0, [0])
        assert at.led.produce("A", 0, 1) == 2
        at.heal()
        assert at.new.described() == ("CompleteAbort", "A", 0, [])
        assert at.led.producers() == [("A", 0, 1, 2)]
        assert at.led.log() == (["A/0/0", "ABORT", "A/0/1"], 2, [])
        assert at.new.add("A", 0, 0) == E.none
        assert at.led.produce("A", 0, 2) == 3
        assert at.new.end("A", 0, COMMIT) == E.none
        assert at.new.settled() == ("CompleteCommit", 0)
        assert at.led.log(committed=True)[1] == 5
        assert at.led.read() == ["A/0/1", "A/0/2"]


def test_in_v2_it_lets_nothing_in_and_keeps_the_owner_out(jars: Path, tmp_path: Path) -> None:
    """The marker's epoch refuses the late record without a question; but the next transaction's first is refused too.

    The deposed coordinator does not know the epoch that its successor gave out, so that a producer alone is told
    INVALID_PRODUCER_EPOCH for the right one (txn.P8), as long as the leader asks there.
    """
    with GatedCluster(jars, tmp_path, 2) as gated:
        at = Stage(gated, "v2")
        assert at.old.init() == ("A", 0)
        assert at.led.produce("A", 0, 0) == 0
        at.depose()
        assert at.new.end("A", 0, ABORT) == ("A", 1)
        assert at.new.settled() == ("CompleteAbort", 1)
        assert at.led.log() == (["A/0/0", "ABORT"], 2, [])
        assert at.old.described() == ("Ongoing", "A", 0, [0])
        assert at.led.produce("A", 0, 1) == E.invalid_producer_epoch
        assert at.led.produce("A", 1, 0) == E.invalid_producer_epoch
        assert at.new.described() == ("CompleteAbort", "A", 1, [])
        at.heal()
        assert at.led.produce("A", 1, 0) == 2
        assert at.new.end("A", 1, COMMIT) == ("A", 2)
        assert at.new.settled() == ("CompleteCommit", 2)
        assert at.led.log(committed=True)[1] == 4
        assert at.led.read() == ["A/1/0"]
