"""The copying application with one member that is a zombie: it has copied its batch, in a transaction that it has not
committed, when the group gives its partitions to another, which copies the same records. Then it goes on.

Every member has a transactional id of its own, so that nothing but the group coordinator's look at the offsets that
it sends keeps the zombie out: whether it does depends on what the client says of its membership, and when.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from copiers import Copier, Job
from copy_recording import audit_and_replay
from copy_settings import AFTER_POLL, AT_POLL, AT_SEND, CLASSIC, CONSUMER, LEFT_OUT, READ_UNCOMMITTED
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.clusters.properties import SHORT_SESSIONS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

HELD, STOPPED, REBALANCED = "held", "stopped", "rebalanced"
"""The application alone stands still until its time between two polls is over, and leaves the group by itself; or the
whole process does until its session is over; or another member comes while the application is at work, and nothing
is late."""

REFUSED, TWICE = "refused", "twice"
BROKEN = {"nothing_twice", "newest_owner_commits"}
"""What a replay says of the second: that it is so, and whose commit was to blame."""
PARTITIONS, RECORDS = 2, 20
POLL_INTERVAL_MS = 2_000
SETTLED_S = 1.0


class Case(NamedTuple):
    """What the members are, how the zombie comes to be one, and what comes of it."""

    library: str
    protocol: str
    how: str
    metadata: str
    ends: str
    listener: bool = False

    @property
    def id(self) -> str:
        """A name for the test."""
        return "-".join((*self[:4], "listener")[: 5 if self.listener else 4])


# kafka-python takes a member that has left, or was removed, for one of no group at all, and says so to the producer.
# The Java consumer of the new protocol joins again in the background if no listener is set, and is a member then; the
# classic one joins in poll(). Both of librdkafka's keep the generation that they had, until the application polls, if
# they have a callback for rebalances, as Python's package gives them; else they take part in each in the background.
# Metadata that are read when poll() has returned may be as late as those read at the send: the application can stand
# still between the two calls. Read before poll() and after it, and the same, they are those of the records.
CASES = (
    Case("librdkafka", CLASSIC, HELD, AT_SEND, REFUSED),
    Case("librdkafka", CONSUMER, STOPPED, AT_SEND, REFUSED),
    Case("librdkafka", CLASSIC, HELD, LEFT_OUT, TWICE),
    Case("librdkafka-c", CLASSIC, REBALANCED, AT_SEND, TWICE),
    Case("kafka-python", CLASSIC, HELD, AT_SEND, TWICE),
    Case("kafka-python", CLASSIC, HELD, AFTER_POLL, TWICE),
    Case("java", CONSUMER, STOPPED, AT_POLL, REFUSED),
    Case("java", CONSUMER, STOPPED, AFTER_POLL, TWICE),
    Case("java", CONSUMER, STOPPED, AT_SEND, TWICE),
    Case("java", CONSUMER, STOPPED, AT_SEND, REFUSED, listener=True),
)
OTHERS = (
    Case("librdkafka", CONSUMER, HELD, LEFT_OUT, TWICE),
    Case("librdkafka-c", CONSUMER, REBALANCED, AT_SEND, TWICE),
    Case("kafka-python", CLASSIC, HELD, AT_POLL, REFUSED),
    Case("java", CLASSIC, STOPPED, AT_SEND, REFUSED),
    Case("librdkafka", CLASSIC, STOPPED, AT_SEND, REFUSED),
    Case("librdkafka", CLASSIC, STOPPED, AT_POLL, REFUSED),
    Case("librdkafka", CONSUMER, HELD, AT_SEND, REFUSED),
    Case("librdkafka", CONSUMER, HELD, AT_SEND, REFUSED, listener=True),
    Case("librdkafka", CONSUMER, STOPPED, AT_SEND, REFUSED, listener=True),
    Case("librdkafka-c", CLASSIC, REBALANCED, AT_POLL, REFUSED),
    Case("librdkafka-c", CONSUMER, REBALANCED, AT_POLL, REFUSED),
    Case("librdkafka-c", CONSUMER, STOPPED, AT_SEND, TWICE),
    Case("kafka-python", CLASSIC, STOPPED, AT_SEND, TWICE),
    Case("kafka-python", CLASSIC, STOPPED, AT_SEND, TWICE, listener=True),
    Case("kafka-python", CLASSIC, STOPPED, AT_POLL, REFUSED),
    Case("java", CLASSIC, HELD, AT_SEND, REFUSED),
    Case("java", CONSUMER, HELD, AT_SEND, REFUSED),
    Case("java", CONSUMER, HELD, AT_SEND, REFUSED, listener=True),
    Case("java", CLASSIC, STOPPED, AFTER_POLL, REFUSED),
    Case("librdkafka", CLASSIC, STOPPED, AFTER_POLL, REFUSED),
    Case("librdkafka", CONSUMER, STOPPED, AFTER_POLL, REFUSED),
    Case("librdkafka-c", CLASSIC, STOPPED, AFTER_POLL, TWICE),
    Case("librdkafka-c", CONSUMER, STOPPED, AFTER_POLL, TWICE),
    Case("librdkafka-c", CLASSIC, REBALANCED, AFTER_POLL, TWICE),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_zombie(kafka_groups: KafkaCluster, jars: Path, tmp_path: Path, case: Case) -> None:
    """Refused, it copies nothing twice; taken, all of its batch is in the committed output twice."""
    run(kafka_groups, jars, tmp_path, case)


@pytest.mark.nightly(nights=4)
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.id)
def test_other_zombies(kafka_groups: KafkaCluster, jars: Path, tmp_path: Path, case: Case) -> None:
    """The same, in the other ways to be one."""
    run(kafka_groups, jars, tmp_path, case)


def run(kafka: KafkaCluster, jars: Path, folder: Path, case: Case, release: str = "") -> None:
    """Raises AssertionError where it ends otherwise."""
    job = Job.create(kafka.bootstrap, f"zombie-{case.id}", PARTITIONS, RECORDS)
    interval = POLL_INTERVAL_MS if case.how == HELD else 30 * POLL_INTERVAL_MS
    taken = RECORDS if case.how == REBALANCED else PARTITIONS * RECORDS
    with _member(job, "zombie", jars, case, interval) as zombie:
        held = _hold(zombie, "handed" if case.metadata == AFTER_POLL else "sent")
        assert len(held) == PARTITIONS * RECORDS
        before = zombie.look()["member"]
        if case.how == STOPPED:
            zombie.pause()
        with _member(job, "owner", jars, case) as owner:
            job.until(lambda: sum(job.offsets().values()) == taken)
            moved = [place for place in held if job.offsets()[place[0]]]
            if case.how == STOPPED:
                zombie.resume()
                time.sleep(SETTLED_S)  # its threads find out what has become of it, and do what they do by themselves
                if case.library == "java" and case.ends == TWICE:
                    assert zombie.look()["member"] == before  # the same member, as far as names go
            zombie.go()
            reported = zombie.until("committed", "failed")
            zombie.finish()
            job.until_done()  # what the zombie gave up is copied by the owner
            owner.finish()
    audited, report = audit_and_replay(kafka, job, folder, release)
    if case.ends == REFUSED:
        assert (reported.get("failed"), reported.get("fatal")) == ("send_offsets", False)
        assert audited.clean, audited
        assert report.violations == {}
    else:
        assert report.violations.keys() == BROKEN
        assert reported.get("committed") == held
        assert len(moved) == taken
        # What it keeps through a classic rebalance it is given again from the offset before, and copies again itself.
        by = {place: {copy.member for copy in copies} for place, copies in audited.twice.items()}
        assert {place for place, members in by.items() if members == {"zombie", "owner"}} == set(map(tuple, moved))


@pytest.mark.parametrize("isolation", ["read_committed", READ_UNCOMMITTED])
def test_offsets_that_are_pending(kafka_groups: KafkaCluster, jars: Path, tmp_path: Path, isolation: str) -> None:
    """The zombie has sent its offsets while it was a member, and commits when it is none. Who takes over waits for that
    (UNSTABLE_OFFSET_COMMIT), if it reads committed records only; else it is given the offset before, and copies all of
    it again. librdkafka's consumers read committed records by default, the others' do not."""
    case = Case("librdkafka", CLASSIC, STOPPED, AT_SEND, "")
    job = Job.create(kafka_groups.bootstrap, f"pending-{isolation}", PARTITIONS, RECORDS)
    with _member(job, "zombie", jars, case, isolation=isolation) as zombie:
        held = _hold(zombie, "offsets")
        zombie.pause()
        with _member(job, "owner", jars, case, isolation=isolation) as owner:
            if isolation == READ_UNCOMMITTED:
                owner.until("committed")
            else:
                job.until(lambda: job.members() == ["owner"])
                with pytest.raises(TimeoutError):
                    owner.until("committed", patience_s=SETTLED_S)
            zombie.resume()
            zombie.go()
            assert zombie.until("committed", "failed").get("committed") == held
            job.until_done()
            owner.finish()
            zombie.finish()
    audited, report = audit_and_replay(kafka_groups, job, tmp_path)
    assert set(audited.twice) == (set(map(tuple, held)) if isolation == READ_UNCOMMITTED else set())
    assert audited.clean == (isolation != READ_UNCOMMITTED)
    assert report.violations.keys() == (set() if audited.clean else {"nothing_twice", "one_producer_commits"})


@pytest.mark.nightly
@pytest.mark.parametrize("release", ["4.0.0", "4.3.1"])
def test_rejoined_in_other_releases(jars_of: Callable[[str], Path], tmp_path: Path, release: str) -> None:
    """The Java consumer and the broker of 4.0, where a commit needs the member's own epoch: that is the new one; and of
    4.4, where it goes by the ids of topics."""
    jars = jars_of(release)
    with KafkaCluster(jars, tmp_path, size=1, settings=SHORT_SESSIONS) as kafka:
        run(kafka, jars, tmp_path / "recorded", Case("java", CONSUMER, STOPPED, AT_SEND, TWICE), release)


def _member(job: Job, name: str, jars: Path, case: Case, interval_ms: int = 60_000, **settings: str) -> Copier:
    return job.member(
        name, library=case.library, protocol=case.protocol, metadata=case.metadata, listener=case.listener,
        poll_interval_ms=interval_ms, batch=2 * PARTITIONS * RECORDS, jars=str(jars), **settings,
    )  # fmt: skip


def _hold(zombie: Copier, point: str) -> list[list[int]]:
    """The batch that it has, all of the input, when it is held there."""
    zombie.hold(point)
    batch: list[list[int]] = zombie.until("at")["batch"]
    return batch
