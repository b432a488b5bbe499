"""This module translates events of a group to steps of its models.

It determines when the steps of a group and its members are reported, where events contain less than a step of the
model, or divide it into several.

A member of the model is an instance of the application, with its producer. Its steps are reported when it is observed
to take them, with these exceptions:

- Of each partition, all inputs of a poll are one step. Where an instance begins is reported with the first of them:
  which answer to a fetch it has taken matters only there.
- An instance is informed that its transaction is committed before the marker has reached the group's coordinator, and
  polls again. The next transaction cannot reach that coordinator earlier than the marker (txn.16). The model has one
  transaction of a member, so what the instance does until then is reported after the marker.
- An instance that has ended does nothing more, and what it sent may still arrive: it has crashed.
- The initialisation of a producer id fences the instance that had it before, if that one has nothing open.
- What an end that was asked for has become is known from its answer, or from the offsets that it settles.
- A classic group stores a generation when its leader has sent the assignments. Until then a coordinator that takes over
  knows the preceding generation (GroupMetadataManager.java; `coordinator_loaded` has which). A generation is reported
  when an event reveals that it is stored, or that a request is judged by it.
- Members with epochs are reported under their ids, which last as long as an instance. What the coordinator gives them
  is reported when it is stored. A late heartbeat that frees what its member has by now is not followed further, nor is
  a late copy of one with which a static member left, or of one with which it joined that arrives when it has left in
  the middle of a transaction. What a static member gives up as it comes back is reported after its return.
- A member may learn of its assignment when the generation is over. Of what it does until it joins again only its
  commits are reported, which the model does not accept. Where no broker checks the generation it is not followed
  further.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.group_fencing.classic import ByAssignment, ByGeneration, Shipped
from fencepost.model.group_fencing.modern import Modern, Relaxed
from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.group_fencing.events import (
    BY_ASSIGNMENT,
    CLASSIC,
    DRAFT,
    GROUP_FENCING,
    MODEL_COLUMNS,
    MODERN,
)
from fencepost.properties.history import HistoryError
from fencepost.properties.translation import Row, Tellers

ROW_KINDS = ("processed", "killed", "fenced", "away", "replaced")
"""The kinds of rows in `ROW_KINDS` are not events."""
NOTHING = dict.fromkeys(MODEL_COLUMNS, -1)

GROUP_ERRORS = frozenset({22, 25, 69, 82, 85, 113})
"""With the errors in `GROUP_ERRORS` the group's coordinator refuses a commit by what it knows of the group. All other
errors are of transactions."""
FENCED_INSTANCE = 82
STATIC_LEFT = -2
OF_MEMBERS = frozenset({"joined", "left", "epoch_given", "member_removed"})
"""With the events in `OF_MEMBERS` the group and a member report its membership."""
OF_INSTANCES = frozenset({"consumed", "end_told", "instance_stopped", "instance_failed"})
"""With the events in `OF_INSTANCES` the work of an instance is over, or another one begins."""

Pair = tuple[int, int]
"""A `Pair` identifies a transaction by producer id and epoch."""
Placed = tuple[int, Row]


class Instance:
    """An `Instance` is what is known of one instance of the application."""

    def __init__(self) -> None:
        self.generation = 0  # in which it has joined last
        self.member = -1
        self.strays = False  # that generation was over by then, or its place taken
        self.pair: Pair = (-1, -1)  # of the last transaction of which an offset was taken
        self.unsettled: set[int] = set()  # partitions whose offsets are pending in that
        self.polled_in = -1  # the generation, or its epoch, of which it was when it polled
        self.work: set[int] = set()  # partitions of which it has polled what it works with
        self.positions: dict[int, int] = {}  # where it goes on in each
        self.later: list[Row] = []  # rows that are reported when none of these is left
        self.early: set[int] = set()  # partitions whose offset it has fetched while it was at work
        self.late: set[int] = set()  # and those of which that was an epoch before


class Applications:
    """`Applications` translates what instances of the application do, and what becomes of their commits."""

    def __init__(self) -> None:
        self.instances: dict[int, Instance] = {}
        self.owners: dict[Pair, int] = {}  # whose transaction it is
        self.aborts: set[Pair] = set()  # transactions whose abort was asked for
        self.aborted: set[Pair] = set()  # and answered
        self.polled: dict[int, tuple[int, int]] = {}  # by partition, the first and the last input of a poll
        self.polling = -1  # whose poll it is
        self.initialised: dict[int, int] = {}  # by producer id, the instance that has initialised it last

    def translate(self, events: Sequence[Any]) -> Iterator[Placed]:
        tellers = Tellers(self)
        for place, event in enumerate(events):
            kind = event.kind
            if kind == "consumed":
                first, _ = self.polled.get(event.partition, (event.offset, 0))
                self.polled[event.partition] = first, event.offset
                self.polling = self.member_of(event.client)
                self.of(self.polling).polled_in = event.generation
                following = events[place + 1] if place + 1 < len(events) else None
                if following is None or (following.kind, following.client) != ("consumed", event.client):
                    for row in self.poll():
                        yield place, row
                continue
            teller = tellers[kind]
            if teller is not None:
                for row in teller(event):
                    yield place, row

    def member_of(self, client: int) -> int:
        return client

    def of(self, member: int) -> Instance:
        found = self.instances.get(member)
        if found is None:
            found = self.instances[member] = Instance()
        return found

    def by(self, member: int, *rows: Row) -> Sequence[Row]:
        """Return the rows of what an instance does now, or queue them after the rows that are held back for it."""
        instance = self.of(member)
        if not instance.later:
            return rows
        instance.later.extend(rows)
        return ()

    def poll(self) -> Iterable[Row]:
        member, instance = self.polling, self.of(self.polling)
        polled, self.polled = self.polled, {}
        if instance.strays:
            return
        instance.work = set(polled)
        instance.positions |= {partition: last + 1 for partition, (_, last) in polled.items()}
        rows = [_row("consumed", member, partition, offset=first) for partition, (first, _) in polled.items()]
        rows += [_row("processed", member, p, offset=last + 1, first=first) for p, (first, last) in polled.items()]
        if instance.unsettled:
            instance.later.extend(rows)
        else:
            yield from self.by(member, *rows)

    def txn_begun(self, event: Any) -> Iterable[Row]:
        """Note a transaction that begins, with the preceding one's epoch if no broker has received any of that."""
        pair = event.producer_id, event.epoch
        self.owners[pair] = self.member_of(event.client)
        self.aborts.discard(pair)
        self.aborted.discard(pair)
        return ()

    def offset_sent(self, event: Any) -> Iterable[Row]:
        member = self.member_of(event.client)
        if self.of(member).strays:
            return ()
        generation = _epoch(event.generation)
        return self.by(member, _row("offset_sent", member, event.partition, offset=event.offset, generation=generation))

    def end_sent(self, event: Any) -> Iterable[Row]:
        if event.outcome == 0:
            self.aborts.add((event.producer_id, event.epoch))
        return ()

    def end_told(self, event: Any) -> Iterable[Row]:
        if event.error == 0:
            if event.outcome == 0:
                self.aborted.add((event.producer_id, event.epoch))
            member = self.member_of(event.client)
            yield from self.by(member, _row("end_told", member, outcome=event.outcome), *self.goes_on(member, event))

    def goes_on(self, member: int, event: Any) -> list[Row]:
        """Return where the instance continues, which after an abort has to fetch every position again."""
        instance = self.of(member)
        if event.outcome == 0:
            instance.positions.clear()
        instance.work = set()
        return [_row("consumed", member, partition, offset=at) for partition, at in instance.positions.items()]

    def offset_fetched(self, event: Any) -> Iterable[Row]:
        if event.error == 0:
            self.of(self.member_of(event.client)).positions[event.partition] = max(event.offset, 0)
        return ()

    def revoked(self, event: Any) -> Iterable[Row]:
        self.of(self.member_of(event.client)).positions.pop(event.partition, None)
        return ()

    lost = revoked

    def init_told(self, event: Any) -> Iterable[Row]:
        if event.error == 0:
            client = event.client
            before = self.initialised.get(event.producer_id, client)
            self.initialised[event.producer_id] = client
            if before != client and self.member_of(before) >= 0:
                yield from self.by(self.member_of(before), _row("fenced", self.member_of(before)))
            if self.member_of(client) >= 0:
                yield from self.by(self.member_of(client), _row("init_told", self.member_of(client)))

    def instance_stopped(self, event: Any) -> Iterable[Row]:
        member = self.member_of(event.client)
        return self.by(member, _row("killed", member)) if member >= 0 else ()

    instance_failed = instance_stopped

    def offset_taken(self, event: Any) -> Iterable[Row]:
        pair = event.producer_id, event.epoch
        if pair in self.aborted and event.partition not in self.of(self.owners[pair]).unsettled:
            raise Beyond("offsets are taken in a transaction of which the application knows that it is aborted")
        member = self.owners.get(pair, -1)
        if self.of(member).pair != pair:
            yield from self.settle(member)
        self.of(member).pair = pair
        self.of(member).unsettled.add(event.partition)
        generation = _epoch(event.generation)
        yield _row("offset_taken", member, event.partition, offset=event.offset, generation=generation)

    def offset_refused(self, event: Any) -> Iterable[Row]:
        """Yield a refusal whose reason the model knows as well."""
        if event.error in GROUP_ERRORS:
            member = self.owners.get((event.producer_id, event.epoch), -1)
            yield _row("offset_refused", member, event.partition, offset=event.offset)

    def offset_settled(self, event: Any) -> Iterable[Row]:
        pair = event.producer_id, event.epoch
        member = self.owners.get(pair, -1)
        asked = event.outcome == 0 and pair in self.aborts
        yield _row("offset_settled", member, event.partition, offset=event.offset, outcome=event.outcome, asked=asked)
        self.of(member).unsettled.discard(event.partition)
        if not self.of(member).unsettled:
            yield from self.settle(member)

    def settle(self, member: int) -> Iterable[Row]:
        instance = self.of(member)
        later, instance.later = instance.later, []
        instance.unsettled.clear()
        yield from later

    def fetch_answered(self, event: Any) -> Iterable[Row]:
        offset = max(event.offset, 0)
        return (_row("fetch_answered", event.member, event.partition, offset=offset, outcome=event.outcome),)

    def fetch_held(self, event: Any) -> Iterable[Row]:
        yield _row("fetch_held", -1, event.partition)


class ClassicTranslator(Applications):
    """A `ClassicTranslator` translates one group with generations. ``judges`` is whether commits are compared with the
    newest generation, stored or not."""

    def __init__(self, judges: bool) -> None:
        super().__init__()
        self.judges = judges
        self.reported = 1  # the newest generation that was reported; the model's first is the group before any
        self.begun: list[int] = []  # those after it
        self.removed: set[tuple[str, int]] = set()  # members and instance ids put out, as far as this coordinator knows
        self.assignees: dict[tuple[int, int], int] = {}  # who was assigned a partition in a generation
        self.producers: dict[int, int] = {}  # whose producer it is, by its id
        self.holders: dict[int, int] = {}  # by instance id, the instance of the application that joined with it last

    def joined(self, event: Any) -> Iterable[Row]:
        """Yield the rows of a join, into a generation that is stored, and so is reported by now, or into one that is
        over.

        A static member replaces its predecessor in its generation (KIP-345), and may be notified of that only then.
        """
        yield from self.store(event.generation)
        instance = self.of(event.client)
        generation = _epoch(event.generation)
        instance.generation, instance.member = generation, event.member
        instance.strays = generation < self.reported
        if event.instance < 0 or instance.strays:
            return
        before = self.holders.get(event.instance, event.client)
        if before == event.client or self.of(before).generation != generation:
            self.holders[event.instance] = event.client
        elif event.member < self.of(before).member:
            instance.strays = True
        else:
            self.holders[event.instance] = event.client
            yield from self.by(event.client, {**_row("joined", event.client), "other": before})

    def init_told(self, event: Any) -> Iterable[Row]:
        if event.error == 0:
            self.producers[event.producer_id] = event.client
        return super().init_told(event)

    def assigned(self, event: Any) -> Iterable[Row]:
        self.assignees[event.generation, event.partition] = event.client
        if not self.of(event.client).strays:
            yield from self.by(event.client, _row("assigned", event.client, event.partition))

    def producer_fenced(self, event: Any) -> Iterable[Row]:
        """Yield a fencing by an initialisation for a partition that the member was assigned, of which the sender may be
        notified much later. A producer that asks for an abort itself is given the next epoch, and so is not fenced yet
        (KAFKA-19367)."""
        other, member = self.producers.get(event.producer_id), self.assignees.get((event.generation, event.partition))
        aborts = (event.producer_id, event.epoch) in self.aborts
        if not self.judges and not aborts and other is not None and member is not None:
            yield {**_row("producer_fenced", member), "other": other}

    def generation_begun(self, event: Any) -> Iterable[Row]:
        self.begun.append(_epoch(event.generation))
        return ()

    def store(self, generation: int) -> Iterable[Row]:
        """Yield the generations up to this one as stored."""
        while self.begun and self.begun[0] <= _epoch(generation):
            self.reported = self.begun.pop(0)
            yield {"kind": "generation_begun", "generation": self.reported}

    def coordinator_loaded(self, event: Any) -> Iterable[Row]:
        """Yield the rows of a coordinator that takes over, which knows the stored generations only."""
        yield from self.store(event.generation)
        self.begun.clear()
        self.removed.clear()
        yield {"kind": "coordinator_loaded", "generation": _epoch(event.generation)}

    def member_removed(self, event: Any) -> Iterable[Row]:
        self.removed |= {("member", event.member), ("instance", event.instance)} - {("instance", -1)}
        return ()

    def offset_taken(self, event: Any) -> Iterable[Row]:
        """Yield the rows of an accepted offset, which was judged by the newest generation."""
        for generation in list(self.begun) if self.judges else ():
            yield from self.store(generation - 1)
        if self.of(self.owners.get((event.producer_id, event.epoch), -1)).strays and not self.judges:
            raise Beyond("a member commits what it was assigned in a generation that was over when it heard of that")
        yield from super().offset_taken(event)

    def offset_refused(self, event: Any) -> Iterable[Row]:
        """Yield a refusal, except of a member that was removed and may be missing in the generation, while a generation
        is not stored, or of a static member whose successor was not observed yet."""
        out = self.removed & {("member", event.member), ("instance", event.instance)}
        if event.error != FENCED_INSTANCE and not out and not self.begun:
            yield from super().offset_refused(event)

    def fetch_answered(self, event: Any) -> Iterable[Row]:
        """Return the rows of an answered fetch without a member, because classic members do not identify themselves."""
        return super().fetch_answered(event._replace(member=-1))


class ModernTranslator(Applications):
    """A `ModernTranslator` translates one group whose members have epochs, with one member id per instance."""

    def __init__(self) -> None:
        super().__init__()
        self.members: dict[int, int] = {}  # by instance
        self.removed = -1
        self.away: set[int] = set()  # static members that have left for a while
        self.freed: list[Row] = []  # what one that comes back has no more
        self.held: set[tuple[int, int]] = set()  # partitions that members know to have
        self.events: Sequence[Any] = ()  # those that are being translated

    def translate(self, events: Sequence[Any]) -> Iterator[Placed]:
        self.events = events
        return super().translate(events)

    def member_of(self, client: int) -> int:
        return self.members.get(client, -1)

    def joined(self, event: Any) -> Iterable[Row]:
        """Return the rows of a join, with the epoch that a heartbeat's answer has brought."""
        self.members[event.client] = event.member
        return self.by(event.member, _row("joined", event.member, generation=_epoch(event.generation)))

    def offset_fetched(self, event: Any) -> Iterable[Row]:
        """Yield the rows of a fetched offset, with the member's epoch then, which may be over when it polls."""
        yield from super().offset_fetched(event)
        member = self.member_of(event.client)
        self.of(member).late.discard(event.partition)
        if event.error == 0 and self.of(member).work:
            self.of(member).early.add(event.partition)
        elif event.error == 0:
            yield from self.by(member, _row("consumed", member, event.partition, offset=max(event.offset, 0)))

    def poll(self) -> Iterable[Row]:
        instance = self.of(self.polling)
        if instance.late & set(self.polled):
            raise Beyond(
                "an offset was fetched while the application was at work, in an epoch that is over at its poll"
            )
        instance.early.clear()
        yield from super().poll()

    def offset_sent(self, event: Any) -> Iterable[Row]:
        """Yield the rows of sent offsets. The followed models of the new protocol read metadata at the poll."""
        if event.generation != self.of(self.member_of(event.client)).polled_in:
            raise Beyond("the application reads its metadata as it sends offsets, and has another epoch by then")
        yield from super().offset_sent(event)

    def assigned(self, event: Any) -> Iterable[Row]:
        member = self.member_of(event.client)
        self.held.add((member, event.partition))
        return self.by(member, _row("assigned", member, event.partition))

    def revoked(self, event: Any) -> Iterable[Row]:
        member = self.member_of(event.client)
        self.held.discard((member, event.partition))
        yield from super().revoked(event)
        yield from self.by(member, _row("revoked", member, event.partition))

    def lost(self, event: Any) -> Iterable[Row]:
        member = self.member_of(event.client)
        self.held.discard((member, event.partition))
        yield from super().revoked(event)
        yield from self.by(member, _row("lost", member, event.partition))

    def member_removed(self, event: Any) -> Iterable[Row]:
        self.removed = event.member
        return ()

    def generation_begun(self, event: Any) -> Iterable[Row]:
        """Yield the rows of an epoch that begins because a member was removed, or has joined and gets its epoch."""
        if self.removed >= 0:
            self.away.discard(self.removed)
            yield {**_row("generation_begun", self.removed), "generation": _epoch(event.generation)}
        self.removed = -1

    def epoch_given(self, event: Any) -> Iterable[Row]:
        instance, row = self.of(event.member), _row("epoch_given", event.member, generation=_epoch(event.generation))
        if event.generation == STATIC_LEFT:
            if event.member not in self.away:
                yield from self.leave(event.member)
            return
        if (self.removed >= 0 or event.member in self.away) and instance.later:
            raise Beyond("a static member comes back before a marker of its has arrived")
        if (self.removed >= 0 or event.member in self.away) and instance.work and not self.hears_of(event):
            raise Beyond("a late copy of the heartbeat with which a static member joined that has left since")
        if self.removed >= 0:
            self.away.discard(self.removed)
            row = {**row, "kind": "replaced", "other": self.removed}
        self.removed = -1
        self.away.discard(event.member)
        instance.late |= instance.early
        freed, self.freed = self.freed, []
        yield from (row, *freed)

    def hears_of(self, given: Any) -> bool:
        """Return whether a member in the middle of a transaction is next notified that it has joined with this epoch,
        for which it has asked itself.

        A member accepts no answer to a late copy, and one that has ended accepts none at all. In a driven run, which is
        reported call by call, the answer is not known yet, so the member is not followed further.
        """
        rest = iter(self.events)
        any(event is given for event in rest)
        for event in rest:
            if event.kind in OF_MEMBERS and event.member == given.member:
                return bool(event.kind == "joined" and event.generation == given.generation)
            if event.kind in OF_INSTANCES and self.member_of(event.client) == given.member:
                return False
        return False

    def left(self, event: Any) -> Iterable[Row]:
        """Drop what the member has, of which the coordinator is notified later, if at all."""
        self.held = {(member, partition) for member, partition in self.held if member != event.member}
        return ()

    def leave(self, member: int) -> Iterable[Row]:
        if any(holder == member for holder, _ in self.held):
            raise Beyond("a late copy of the heartbeat with which a static member left")
        self.away.add(member)
        yield _row("away", member)

    def partition_given(self, event: Any) -> Iterable[Row]:
        if not event.outcome and (event.member, event.partition) in self.held:
            raise Beyond("a late heartbeat frees a partition that its member has by now")
        generation = _epoch(event.generation)
        row = _row("partition_given", event.member, event.partition, outcome=event.outcome, generation=generation)
        if self.removed >= 0 or (event.member in self.away and event.generation != STATIC_LEFT):
            self.freed.append(row)
            return ()
        return (row,)

    def coordinator_loaded(self, event: Any) -> Iterable[Row]:
        yield {"kind": "coordinator_loaded", "generation": _epoch(event.generation)}


def _row(kind: str, client: int, partition: int = -1, **columns: int) -> dict[str, Any]:
    return {**NOTHING, "kind": kind, "client": client, "partition": partition, **columns}


def _epoch(generation: int) -> int:
    """Return the epoch in the model, where 0 is none and 1 is the group before its first generation."""
    return generation + 1 if generation >= 0 else 0


MODELS = {
    "shipped": (Shipped, CLASSIC),
    "draft-repaired-by-generation": (ByGeneration, DRAFT),
    "draft-repaired-by-assignment": (ByAssignment, BY_ASSIGNMENT),
    "new-protocol": (Modern, MODERN),
    "new-protocol-relaxed": (Relaxed, MODERN),
}
JUDGED_BY_GENERATION = ("shipped", "draft-repaired-by-generation")


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how many partitions there are. Raise `HistoryError` where a history may have what the models leave out."""
    if int(config.get("old", 0)) or not config.get("group_aware", True):
        raise HistoryError("applications with a producer for each partition are followed by no model")
    if config.get("transactions", "v2") != "v2":
        raise HistoryError(
            "before transaction.version 2 a late copy of a commit may be taken, which the models leave out"
        )
    if config.get("identities", 0) and variant != "shipped":
        raise HistoryError("instances that share a transactional id are in no model")
    return {"partitions": config["inputs"]} if "inputs" in config else {}


def _translator(variant: str, given: Mapping[str, int]) -> Applications:
    is_new = variant.startswith("new-protocol")
    return ModernTranslator() if is_new else ClassicTranslator(variant in JUDGED_BY_GENERATION)


MAPPING = EventMapping(
    GROUP_FENCING,
    models={name: model for name, (model, _) in MODELS.items()},
    columns=MODEL_COLUMNS,
    observations={name: table for name, (_, table) in MODELS.items()},
    names={"client": (), "other": ()},
    given=_given,
    translator=_translator,
    row_kinds=ROW_KINDS,
)
