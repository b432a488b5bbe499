"""A seeded program of raw requests on a live cluster, and the driver's own record of what it did.

Several transactional ids share a topic. Their clients write, commit and abort; requests are repeated, doubled and late;
instances are fenced and go on; transactions time out; the node is paused, restarted and killed, also between a decision
and its markers. The record goes by answers alone: a record is written once it is acknowledged, a transaction is open
from its first acknowledged record until its end is acknowledged, or its id is initialised or seen to have timed out.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from asking import NEWEST, PARTITIONS, VERSIONS
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.connection import Connection, NoAnswer
from fencepost.reference_impl.live.tcp.reading import build
from gate import WRITE_TXN_MARKERS, Gate
from kio.schema.errors import ErrorCode
from routed import RoutedAsker

LONG_MS = 800_000
"""A time-out that no program reaches, however loaded the machine is."""
SHORT_MS = (200, 900)
Pair = tuple[Any, int]


class Left(Exception):
    """A request was sent, and its answer is not waited for."""


class Client(RoutedAsker):
    """A `RoutedAsker` that can send a request and leave it."""

    leaves = False

    def leave(self, request: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Send a request without a look at its answer."""
        self.leaves = True
        try:
            request(*arguments, **named)
        except (Left, NoAnswer):
            self.leaves = False

    def send(self, api: str, version: int | None, **fields: Any) -> Any:
        if not self.leaves:
            return super().send(api, version, **fields)
        self.leaves = False  # to find the node takes answers
        connection = Connection(*self._find(self._place(api, fields)), 5)
        connection.send(build(api, self.versions[api] if version is None else version, **fields))
        self.connections[len(self.connections), "left"] = connection
        raise Left


class Sent(NamedTuple):
    """An acknowledged batch."""

    pair: Pair
    partition: int
    sequence: int
    count: int
    offset: int


@dataclass
class Owner:
    """A transactional id. `open` has by partition what is written in the open transaction, -1 being the group's
    offsets; `old` has the pairs of instances before, and of transactions before, `ended` how these were ended."""

    ask: Client
    pair: Pair | None = None
    sequences: Counter[int] = field(default_factory=Counter)
    added: set[int] = field(default_factory=set)
    open: dict[int, list[str]] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    old: list[Pair] = field(default_factory=list)
    ended: list[tuple[Pair, bool]] = field(default_factory=list)
    inits: int = 0


class Driver:
    """`met` counts what happened, in the driver's words; `fates` has of each acknowledged record, by partition and
    text, whether its transaction was committed, and None while that is open; `ended` has the texts of a partition for
    each transaction that was ended."""

    def __init__(
        self, cluster: KafkaCluster, gate: Gate | None, name: str, chance: random.Random, styles: tuple[str, ...]
    ) -> None:
        self.cluster, self.gate, self.name, self.chance = cluster, gate, name, chance
        self.met, self.fates = Counter[str](), dict[tuple[int, str], bool | None]()
        self.ended: list[tuple[int, list[str]]] = []
        names: dict[int, str] = {}
        self.owners = []
        for number in range(chance.randint(2, 4)):
            ask = Client(cluster, name, names=names)
            ask.txn, ask.style = f"{name}-{number}", chance.choice(styles)
            ask.versions = {**NEWEST, **VERSIONS.get(ask.style, {})}
            self.owners.append(Owner(ask))
        self.owners[0].ask.prepare()
        names.clear()

    def drive(self, moves: int) -> None:
        """So many moves, and then an end of each transaction, or none."""
        faults = {self.chance.randrange(moves): self.chance.choice(FAULTS) for _ in range(self.chance.randint(0, 2))}
        for number in range(moves):
            if number in faults:
                getattr(self, faults[number])()
            owner = self.chance.choice(self.owners)
            names, weights = zip(*(MOVES if owner.pair is not None else {"init": 1}).items(), strict=True)
            getattr(self, self.chance.choices(names, weights)[0])(owner)
            if self.chance.random() < 0.2:
                described = owner.ask.patiently(owner.ask.described)
                self._count(f"state {described[0] if isinstance(described, tuple) else described.name}")
        for owner in self.owners:
            if owner.pair is None or self.chance.random() < 0.6:
                self.init(owner)
            owner.ask.patiently(owner.ask.settled)

    def init(self, owner: Owner, timeout_ms: int = LONG_MS) -> None:
        """A new instance, which fences the one before."""
        self._count("fenced while open" if owner.open else "initialised")
        self._decide(owner, False)
        answer = owner.ask.patiently(owner.ask.init, timeout_ms=timeout_ms)
        owner.inits += 1
        self._goes_on(owner, answer if isinstance(answer, tuple) else None)
        owner.sequences.clear()

    def produce(self, owner: Owner, doubled: bool = False) -> None:
        """A batch of the open transaction, or the first of one."""
        assert owner.pair is not None
        partition, count = self.chance.randrange(PARTITIONS), self.chance.randint(1, 3)
        if owner.ask.style == "v1" and partition not in owner.added:
            if self._refused(owner, owner.ask.patiently(owner.ask.add, *owner.pair, partition)):
                return
            owner.added.add(partition)
        sequence = owner.sequences[partition]
        request = (*owner.pair, sequence)
        if doubled:
            owner.ask.leave(owner.ask.produce, *request, partition=partition, count=count)
        self._written(owner, owner.ask.patiently(owner.ask.produce, *request, partition=partition, count=count),
                      Sent(owner.pair, partition, sequence, count, -1))  # fmt: skip

    def double(self, owner: Owner) -> None:
        """The same request twice at once."""
        self._count("doubled produce")
        self.produce(owner, doubled=True)

    def offset(self, owner: Owner) -> None:
        """An offset of the group in the transaction."""
        assert owner.pair is not None
        ask = owner.ask
        if ask.style == "v1" and self._refused(owner, ask.patiently(ask.add_offsets, *owner.pair)):
            return
        if not self._refused(owner, ask.patiently(ask.commit_offset, *owner.pair, self.chance.randint(0, 99))):
            self._count("offset")
            owner.open.setdefault(-1, [])

    def end(self, owner: Owner, commit: bool | None = None, doubled: bool = False) -> None:
        """COMMIT or ABORT; what has nothing written can but be aborted, and below version 2 not even that."""
        assert owner.pair is not None
        commit = self.chance.random() < 0.7 if commit is None else commit
        if not owner.open:
            if owner.ask.style == "v1":
                return
            commit = False
        if doubled:
            self._count("doubled end")
            owner.ask.leave(owner.ask.end, *owner.pair, commit)
        self._ended(owner, commit, owner.ask.patiently(owner.ask.end, *owner.pair, commit))

    def double_end(self, owner: Owner) -> None:
        self.end(owner, doubled=True)

    def retry(self, owner: Owner) -> None:
        """One of the last five batches once more."""
        mine = [each for each in owner.sent if each.pair == owner.pair]
        if mine and owner.open:
            last = self.chance.choice(mine)
            among = [each for each in mine if each.partition == last.partition][-5:]
            self._again("retry", owner, self.chance.choice(among))

    def late(self, owner: Owner) -> None:
        """A batch of an earlier transaction, or an older one of this."""
        if owner.sent:
            self._again("late produce", owner, self.chance.choice(owner.sent))

    def late_end(self, owner: Owner) -> None:
        """The end of an earlier transaction; below version 2 it ends the one that is open now."""
        if owner.ended:
            pair, commit = self.chance.choice(owner.ended)
            answer = owner.ask.patiently(owner.ask.end, *pair, commit)
            self._count("late end taken" if _ok(answer) else f"late end {answer.name}")
            if answer == ErrorCode.none and owner.open and pair == owner.pair:
                self._count("late end decides the next")
                self._ended(owner, commit, answer)

    def zombie(self, owner: Owner) -> None:
        """A fenced instance goes on: it writes, adds a partition, or ends what it takes for its transaction."""
        if owner.old:
            pair, ask = self.chance.choice(owner.old), owner.ask
            requests: list[Callable[[], Any]] = [
                lambda: ask.produce(*pair, 0, partition=self.chance.randrange(PARTITIONS)),
                lambda: ask.add(*pair, 0), lambda: ask.end(*pair, self.chance.random() < 0.5),
            ]  # fmt: skip
            answer = ask.patiently(self.chance.choice(requests))
            self._count("zombie taken" if _ok(answer) else f"zombie {answer.name}")

    def zombie_init(self, owner: Owner) -> None:
        """A fenced instance initialises with its own pair; what is open may be aborted for that."""
        if owner.old:
            answer = owner.ask.patiently(owner.ask.init, *self.chance.choice(owner.old), timeout_ms=LONG_MS)
            self._count("zombie initialised" if _ok(answer) else f"zombie init {answer.name}")
            owner.ask.patiently(owner.ask.settled)
            self.init(owner)

    def time_out(self, owner: Owner) -> None:
        """A transaction takes too long, and its producer goes on."""
        self.init(owner, self.chance.randint(*SHORT_MS))
        if owner.pair is not None:
            self.produce(owner)
        owner.ask.until(lambda: owner.ask.patiently(owner.ask.described)[0] not in UNDER_WAY, 60)
        if owner.open:
            self._count("timed out")
        self._decide(owner, False)
        if owner.pair is not None:
            late = owner.ask.patiently(owner.ask.end, *owner.pair, True)
            self._count("end after time-out taken" if _ok(late) else f"end after time-out {late.name}")
        self.init(owner)

    def plain(self, owner: Owner) -> None:
        """An idempotent producer without transactions, with a retry."""
        ask = owner.ask
        pair, partition = ask.patiently(ask.init, txn=None), self.chance.randrange(PARTITIONS)
        for _ in range(2):
            answer = ask.patiently(ask.produce, *pair, 0, partition=partition, transactional=False)
            self._count("plain" if _ok(answer) else f"plain {answer.name}")
            if _ok(answer):
                self.fates[partition, f"{pair[0]}/{pair[1]}/0"] = True

    # Faults

    def crash(self) -> None:
        """A node is killed, and comes back."""
        self._fault("crash", self.cluster.kill)

    def restart(self) -> None:
        """All nodes are stopped in order, and start again."""
        self._count("restart")
        self.cluster.stop()
        for number in self.cluster.nodes:
            self.cluster.start(number)
        self._wait()

    def crash_in_produce(self) -> None:
        """A batch was sent when the node was killed; its producer sends it again."""
        for owner in self._owners():
            partition, sequence = 0, owner.sequences[0]
            assert owner.pair is not None
            if owner.ask.style == "v1" and owner.ask.patiently(owner.ask.add, *owner.pair, 0) == ErrorCode.none:
                owner.added.add(0)
            owner.ask.leave(owner.ask.produce, *owner.pair, sequence, partition=0)
            time.sleep(self.chance.uniform(0, 0.02))
            self._fault("crash in produce", self.cluster.kill, owner)
            answer = owner.ask.patiently(owner.ask.produce, *owner.pair, sequence, partition=0)
            self._written(owner, answer, Sent(owner.pair, partition, sequence, 1, -1))

    def crash_in_end(self) -> None:
        """EndTxn was sent when the node was killed; its producer sends it again."""
        for owner in self._owners(opened=True):
            assert owner.pair is not None
            commit = self.chance.random() < 0.7
            owner.ask.leave(owner.ask.end, *owner.pair, commit)
            time.sleep(self.chance.uniform(0, 0.02))
            self._fault("crash in end", self.cluster.kill, owner)
            self._ended(owner, commit, owner.ask.patiently(owner.ask.end, *owner.pair, commit))

    def crash_in_prepare(self) -> None:
        """A transaction was decided, and no marker written, when the node was killed."""
        for owner in self._owners(opened=True) if self.gate is not None else ():
            assert owner.pair is not None
            assert self.gate is not None
            self.gate.hold(WRITE_TXN_MARKERS)
            commit = self.chance.random() < 0.7
            answer = owner.ask.patiently(owner.ask.end, *owner.pair, commit)
            if _ok(answer):
                self.gate.wait_for(WRITE_TXN_MARKERS)
            self._ended(owner, commit, answer)
            self._fault("crash in prepare", self.cluster.kill)
            self.gate.release(WRITE_TXN_MARKERS)

    def pause(self) -> None:
        """A node stands still while a request is under way."""
        for owner in self._owners():
            assert owner.pair is not None
            victim = self.chance.choice(list(self.cluster.nodes))
            owner.ask.patiently(owner.ask.described)
            self.cluster.pause(victim)
            try:
                time.sleep(self.chance.uniform(0.1, 0.6))
            finally:
                self.cluster.resume(victim)
            self._count("pause")
            self.double(owner)

    def _fault(self, what: str, strike: Callable[[int], None], waits: Owner | None = None) -> None:
        """`waits` has a request under way, so that it sends nothing else."""
        victim = self.chance.choice(list(self.cluster.nodes))
        if len(self.cluster.nodes) > 1 and self.chance.random() < 0.7:
            victim = self.owners[0].ask.patiently(self.owners[0].ask.coordinator)
        self._count(what)
        strike(victim)
        if len(self.cluster.nodes) > 1:
            self._count("leader or coordinator change")
            self._wait()
            for owner in self.owners:
                if owner.pair is not None and owner is not waits:
                    self.produce(owner)
        self.cluster.start(victim)
        self._wait()

    def _wait(self) -> None:
        self.cluster.wait_until_ready()
        for owner in self.owners:
            owner.ask.reconnect()

    def _owners(self, opened: bool = False) -> list[Owner]:
        """One that has a pair, with an open transaction if that is asked for; or none."""
        some = [each for each in self.owners if each.pair is not None]
        if opened:
            for each in some:
                if not each.open:
                    self.produce(each)
            some = [each for each in some if each.open and each.pair is not None]
        return [self.chance.choice(some)] if some else []

    # The record

    def _count(self, what: str) -> None:
        self.met[what] += 1

    def _refused(self, owner: Owner, answer: Any) -> bool:
        """Whether the rightful owner was refused: then it has to begin anew."""
        if _ok(answer):
            return False
        self._count(f"owner refused {answer.name}")
        owner.pair = None
        return True

    def _written(self, owner: Owner, answer: Any, sent: Sent) -> None:
        if self._refused(owner, answer):
            return
        self._count("produced")
        texts = [f"{sent.pair[0]}/{sent.pair[1]}/{sent.sequence + each}" for each in range(sent.count)]
        owner.open.setdefault(sent.partition, []).extend(texts)
        self.fates.update({(sent.partition, text): None for text in texts})
        owner.sequences[sent.partition] = sent.sequence + sent.count
        owner.sent.append(sent._replace(offset=int(answer)))

    def _again(self, what: str, owner: Owner, sent: Sent) -> None:
        answer = owner.ask.patiently(
            owner.ask.produce, *sent.pair, sent.sequence, partition=sent.partition, count=sent.count
        )
        if isinstance(answer, ErrorCode):
            self._count(f"{what} {answer.name}")
        else:
            self._count(f"{what} known" if int(answer) in (sent.offset, -1) else f"{what} written again")

    def _ended(self, owner: Owner, commit: bool, answer: Any) -> None:
        if self._refused(owner, answer):
            return
        self._count("committed" if commit else "aborted")
        assert owner.pair is not None
        owner.ended.append((owner.pair, commit))
        self._decide(owner, commit)
        if isinstance(answer, tuple):
            self._goes_on(owner, answer)
            owner.sequences.clear()
        owner.added.clear()

    def _decide(self, owner: Owner, commit: bool) -> None:
        for partition, texts in owner.open.items():
            self.fates.update({(partition, text): commit for text in texts})
            self.ended.append((partition, texts))
        owner.open.clear()
        owner.added.clear()

    @staticmethod
    def _goes_on(owner: Owner, pair: Pair | None) -> None:
        if owner.pair is not None and owner.pair != pair:
            owner.old.append(owner.pair)
        owner.pair = pair


def _ok(answer: Any) -> bool:
    return not isinstance(answer, ErrorCode) or answer == ErrorCode.none


UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")
MOVES = {
    "produce": 30, "end": 16, "retry": 6, "late": 6, "late_end": 5, "zombie": 6, "zombie_init": 2, "init": 5,
    "double": 4, "double_end": 3, "offset": 6, "time_out": 2, "plain": 2,
}  # fmt: skip
FAULTS = ("crash", "restart", "crash_in_produce", "crash_in_end", "crash_in_prepare", "pause", "pause")
