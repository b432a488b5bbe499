"""One live cluster for `fencepost doctor`: programs are driven on it, the doctor is asked, and each of its findings is
held against what the driver did and what a plain reader sees.

The oracle uses none of the doctor's code. A transaction is open where the driver has left it open; a record is there
twice if a fetch brings its text twice; a partition is stuck if a transaction is open in it that has no batch of one
that the driver has left open, or that has batches of two epochs; a batch has joined if one of an older epoch is before
it without a marker between; a transaction is unmarked if the driver ended it and its producer has no marker behind it,
or one behind its next batch; offsets are if they are stuck. Every other thing that the doctor calls wrong is an alarm,
and what it does not find of these is missed.
`PLANTS` are defects that are caused on purpose, by which it is known that the campaign can alarm.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from asking import PARTITIONS
from asking_records import CONTROL, TRANSACTIONAL, committed_values, values
from doctor_driver import Client, Driver
from fencepost.proofs.doctor.diagnosis import examine
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.doctor.report import lines
from fencepost.proofs.doctor.source import DiskSource, Source
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.connection import WireError
from gate import Gate
from kio.records.schema import RecordBatch
from kio.schema.errors import ErrorCode

STYLES = {"3.9.2": ("v1",)}
BOTH = ("v2", "v2", "v1")
"""Clients of a release from 4.0 on: some are of before KIP-890."""
TWO_EPOCHS = ("4.0.0",)
"""Where a fence takes two epochs (KAFKA-19367)."""
OFFSETS = ("__consumer_offsets", 0)
MOVES = (30, 60)
"""Moves of one program."""
THREE, PLANT = 7, 5
"""Of so many clusters one has three nodes, or has something planted."""
OPEN = ("running", "slow")
STUCK = ("hanging", "overdue", "stuck", "unexplained")
QUICK = {"replica.high.watermark.checkpoint.interval.ms": 200}
"""So that directories are as new as the cluster."""
FORGETFUL = {"producer.id.expiration.ms": 1000, "producer.id.expiration.check.interval.ms": 200}
UNVERIFIED = {"transaction.partition.verification.enable": False}


class Finding(NamedTuple):
    """What the doctor says of one place; `open` for a transaction that is under way or slow."""

    kind: str
    topic: str
    partition: int
    offset: int
    transactional_id: str
    epoch: int


@dataclass
class Plain:
    """What a plain reader sees, and the driver knows: `opened` by topic, partition and transactional id; partitions in
    which something is `twice`, that are `stuck`, in which a batch has `joined`, or a transaction is `unmarked`; ids
    that were initialised `again`, where a fence takes two epochs also as `skipped`; records whose outcome is `other`
    than their producer was answered."""

    opened: set[tuple[str, int, str]] = field(default_factory=set)
    twice: set[tuple[str, int]] = field(default_factory=set)
    stuck: set[tuple[str, int]] = field(default_factory=set)
    joined: set[tuple[str, int]] = field(default_factory=set)
    unmarked: set[tuple[str, int]] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    other: list[str] = field(default_factory=list)
    decided: int = 0


def plain(drivers: Sequence[Driver]) -> Plain:
    """Read all partitions of the programs' topics by fetch alone."""
    seen = Plain()
    for driver in drivers:
        seen.again |= {owner.ask.txn for owner in driver.owners if owner.inits > 1}
        for owner in driver.owners:
            for number in owner.open:
                place = (driver.name, number) if number >= 0 else OFFSETS
                seen.opened.add((*place, owner.ask.txn))
        for partition in range(PARTITIONS):
            _read(driver, partition, seen)
    _read_offsets(drivers, seen)
    return seen


def _read(driver: Driver, partition: int, seen: Plain) -> None:
    ask, place = driver.owners[0].ask, (driver.name, partition)
    batches, stable, _ = ask.patiently(ask.fetch, partition, False)
    below, _, aborted = ask.patiently(ask.fetch, partition, True)
    at = [(text, batch.base_offset + number) for batch in batches if not batch.attributes & CONTROL
          for number, text in enumerate(values(batch))]  # fmt: skip
    if any(times > 1 for times in Counter(text for text, _ in at).values()):
        seen.twice.add(place)
    there, open_ = dict(reversed(at)), _open(batches, place, seen)
    mine = {min(there.get(text, -1) for text in owner.open[partition]): owner.ask.txn
            for owner in driver.owners if owner.open.get(partition)}  # fmt: skip
    for each in open_.values():
        if (stuck := _stuck(each, mine)) is not None:
            seen.stuck.add(place)
            seen.opened -= {(*place, txn) for txn in stuck}
    if any(_is_unmarked(batches, set(texts)) for number, texts in driver.ended if number == partition and texts):
        seen.unmarked.add(place)
    visible = set(committed_values(below, aborted))
    for (number, text), fate in driver.fates.items():
        if number != partition:
            continue
        decided = text in there and there[text] < stable
        if text not in there or (fate is not None and decided and fate != (text in visible)):
            seen.other.append(f"{driver.name}-{partition}: {text}, {fate}, {decided}, {text in visible}")
        seen.decided += fate is not None


def _stuck(opened: Sequence[RecordBatch], mine: Mapping[int, str]) -> set[str] | None:
    """Return None if these batches, which no marker has ended, are of one epoch and one of them begins a transaction
    that the driver has left open, by `mine` with its id. Otherwise return the ids of those that begin among them. What
    a lost marker of version 1 left is of one epoch with what follows, and its coordinator has that open."""
    within = {mine[batch.base_offset] for batch in opened if batch.base_offset in mine}
    return None if within and len({batch.producer_epoch for batch in opened}) == 1 else within


def _open(batches: Sequence[RecordBatch], place: tuple[str, int], seen: Plain) -> dict[int, list[RecordBatch]]:
    """Return what stands open in a partition, by producer id, and note there what has joined it."""
    found = dict[int, list[RecordBatch]]()
    for batch in batches:
        if batch.attributes & CONTROL:
            found.pop(batch.producer_id, None)
        elif batch.attributes & TRANSACTIONAL:
            found.setdefault(batch.producer_id, []).append(batch)
            if len({each.producer_epoch for each in found[batch.producer_id]}) > 1:
                seen.joined.add(place)
    return found


def _read_offsets(drivers: Sequence[Driver], seen: Plain) -> None:
    """Read the partition of groups' offsets: a transaction is stuck there that no driver has left open."""
    if not any(driver.met["offset"] for driver in drivers):
        return
    ask = drivers[0].owners[0].ask
    batches, _, _ = ask.patiently(ask.fetch, OFFSETS[1], False, topic=OFFSETS[0])
    owners = [owner for driver in drivers for owner in driver.owners if -1 in owner.open]
    known = {owner.ask.id(owner.pair[0]) for owner in owners if owner.pair is not None}
    given_up = sum(owner.pair is None for owner in owners)  # of whose producers the driver has forgotten the ids
    if len(_open(batches, OFFSETS, seen).keys() - known) > given_up:
        seen.stuck.add(OFFSETS)
        seen.unmarked.add(OFFSETS)


def _is_unmarked(batches: Sequence[RecordBatch], texts: Set[str]) -> bool:
    """Return whether the producer of these records, which it has ended, has no marker before its next other batch."""
    mine = [batch for batch in batches if not batch.attributes & CONTROL and texts & {*values(batch)}]
    if not mine:
        return False
    for batch in batches:
        if batch.producer_id == mine[0].producer_id and batch.base_offset > mine[-1].base_offset:
            return not batch.attributes & CONTROL
    return True


def asked(source: Source) -> tuple[list[tuple[Finding, str]], list[str]]:
    """What the doctor finds, each with its sentence, and what it leaves undecided."""
    with closing(source):  # type: ignore[type-var]
        found = examine(source)
    rows = [
        (Finding("open" if line.kind in OPEN else line.kind, line.topic, line.partition, line.offset,
                 line.transactional_id, line.epoch), line.says)
        for line in lines(found)
    ]  # fmt: skip
    under_way = [each for each in found.opened if each.verdict == "running"]
    rows += [
        (Finding("open", *each.active.place, each.active.first_offset, each.transactional_id, each.epoch), "")
        for each in under_way
    ]
    return rows, list(found.gaps)


def unexpected(found: Sequence[tuple[Finding, str]], seen: Plain) -> Iterator[str]:
    """What the doctor finds and the oracle does not expect, and what it does not find."""
    for one, says in found:
        place = one.topic, one.partition
        expected = {
            "open": (*place, one.transactional_id) in seen.opened, "duplicate": place in seen.twice,
            "fenced zombie": one.transactional_id in seen.again, "skipped": one.transactional_id in seen.skipped,
            "joined": place in seen.joined, "unmarked": place in seen.unmarked,
            **dict.fromkeys(STUCK, place in seen.stuck),
        }  # fmt: skip
        if not expected.get(one.kind, False):
            yield f"alarm: {one.kind} at {one.topic}-{one.partition}@{one.offset}: {says}"
    kinds = [(one.kind, one.topic, one.partition, one.transactional_id) for one, _ in found]
    for opened in sorted(seen.opened):
        if ("open", *opened) not in kinds:
            yield f"missed: open {opened}"
    there = {(kind in STUCK, kind, *place) for kind, *place, _ in kinds}
    yield from (f"missed: duplicate {each}" for each in seen.twice if (False, "duplicate", *each) not in there)
    yield from (f"missed: stuck {each}" for each in seen.stuck
                if not any(stuck and (topic, number) == each for stuck, _, topic, number in there))  # fmt: skip
    yield from (f"missed: joined {each}" for each in seen.joined if (False, "joined", *each) not in there)
    named = {(topic, number) for stuck, kind, topic, number in there if stuck or kind in ("joined", "unmarked")}
    yield from (f"missed: unmarked {each}" for each in seen.unmarked if each not in named)


@dataclass
class Cluster:
    """What came of one cluster: its nodes, what is planted, and what the programs and the doctor did."""

    release: str
    seed: int
    nodes: int
    planted: str
    programs: int = 0
    met: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    decided: int = 0
    asked: int = 0
    alarms: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    cut: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "met": dict(sorted(self.met.items())), "kinds": dict(sorted(self.kinds.items()))}


def one_cluster(jars: Path, release: str, seed: int, programs: int, keep: Path | None = None) -> Cluster:
    """Drive so many programs on a fresh cluster, asking the doctor after each, over the network and of the directories.
    With `keep`, the directories of a cluster with an alarm are left there."""
    planted = PLANTED[seed // PLANT % len(PLANTED)] if seed % PLANT == 3 else ""
    nodes = 3 if seed % THREE == 0 and not planted else 1
    came, chance = Cluster(release, seed, nodes, planted), random.Random(seed)
    settings = {**QUICK, **PLANTS[planted].settings} if planted else QUICK
    features = PLANTS[planted].features if planted else {}
    drivers = list[Driver]()
    with tempfile.TemporaryDirectory(prefix="fencepost-doctor-") as folder, ExitStack() as stack:
        cluster = KafkaCluster(jars, Path(folder), nodes, features=features, settings=settings)
        gate = stack.enter_context(Gate(cluster.internal_address(1))) if nodes == 1 else None
        if gate is not None:
            cluster.advertised_internal[1] = gate.address
        try:
            stack.enter_context(cluster)
            styles = STYLES.get(release, BOTH) if not features else ("v1",)
            for number in range(programs):
                driver = Driver(cluster, gate, f"program-{number}", chance, styles)
                driver.drive(chance.randint(*MOVES))
                drivers.append(driver)
                came.programs += 1
                _ask(came, cluster, drivers)
            if planted:
                PLANTS[planted].plant(Client(cluster, f"planted-{planted}"))
                _ask(came, cluster, drivers, planted)
        except (WireError, TimeoutError) as error:
            came.cut = f"{type(error).__name__}: {error}"
        came.met = sum((driver.met for driver in drivers), Counter())
        if keep is not None and came.alarms:
            shutil.copytree(folder, keep / f"{release}-{seed}-{time.time_ns()}")
    return came


def _ask(came: Cluster, cluster: KafkaCluster, drivers: Sequence[Driver], planted: str = "") -> None:
    seen = plain(drivers)
    seen.skipped = seen.again if came.release in TWO_EPOCHS else set()
    by_network, gaps = asked(NetworkSource(cluster.bootstrap))
    time.sleep(0.5)  # for high watermarks to be written down
    by_logs, more = asked(DiskSource(cluster.log_dirs))
    if planted:
        at = f"planted-{planted}"
        came.found = sorted({one.kind for one, _ in by_network if one.topic == at})
        by_network, by_logs = ([each for each in found if each[0].topic != at] for found in (by_network, by_logs))
    came.asked += 1
    came.alarms += unexpected(by_network, seen)
    one, other = ({each for each, _ in found} for found in (by_network, by_logs))
    came.alarms += [f"only by network: {each}" for each in sorted(one - other)]
    came.alarms += [f"only in directories: {each}" for each in sorted(other - one)]
    came.kinds.update(one.kind for one, _ in by_network)
    came.other, came.decided = seen.other, seen.decided
    came.undecided = [*dict.fromkeys((*came.undecided, *gaps, *more))]


class Plant(NamedTuple):
    """A defect that is caused on purpose, in a topic of its own, by which settings, and what the doctor has to say."""

    plant: Any
    kind: str
    settings: Mapping[str, object] = {}
    features: Mapping[str, int] = {}


def _duplicate(ask: Client) -> None:
    """A leader forgets an idle producer, and takes the copy of its batch."""
    ask.prepare()
    ask.versions = {**ask.versions, "produce": 11}
    producer, epoch = ask.patiently(ask.init, txn=None)
    for _ in range(2):
        assert not isinstance(ask.patiently(ask.produce, producer, epoch, 0, transactional=False), ErrorCode)
        time.sleep(4)


def _hanging(ask: Client) -> None:
    """A record that comes after the end of its transaction opens one that no coordinator knows."""
    ask.style = "v1"
    ask.versions = {**ask.versions, "produce": 11, "end_txn": 4}
    ask.prepare()
    pair = ask.patiently(ask.init)
    assert ask.patiently(ask.add, *pair, 0) == ErrorCode.none
    assert ask.patiently(ask.produce, *pair, 0) == 0
    assert ask.patiently(ask.end, *pair, True) == ErrorCode.none
    ask.patiently(ask.settled)
    assert ask.patiently(ask.produce, *pair, 1) == 2


def _zombie(ask: Client) -> None:
    """A marker arrives that no coordinator of the transaction has decided: a zombie coordinator's."""
    ask.prepare()
    ask.versions = {**ask.versions, "produce": 11}
    pair = ask.patiently(ask.init)
    assert ask.patiently(ask.add, *pair, 0) == ErrorCode.none
    assert ask.patiently(ask.produce, *pair, 0) == 0
    assert ask.patiently(ask.marker, *pair, True) == ErrorCode.none


PLANTS = {
    "duplicate": Plant(_duplicate, "duplicate", FORGETFUL),
    "hanging": Plant(_hanging, "hanging", UNVERIFIED, {"transaction.version": 0}),
    "zombie": Plant(_zombie, "marker_without"),
}
PLANTED = tuple(PLANTS)
