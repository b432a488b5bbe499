"""This module has the steps of scenarios, decides which clients must be able to make progress in a run (txn.P11), and
plays scenarios about the answers that a client gets.

A client must be able to if it has asked for its transactional id, as the last of those that have that id, and was given
no fatal error. A client that asked before it may be fenced, and a fenced one is promised nothing; a time-out fences
too, which the client gets as a fatal error. So nothing has to be known of coordinators here, and a black box emits
enough.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from random import Random
from typing import Annotated, Any, NamedTuple

from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.machine import BURST, Machine, scenario
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.nearest import error_text
from fencepost.properties.roles import Between
from fencepost.properties.transactions.interface import (
    ABILITIES,
    ABILITY_OF_KEY,
    ANYWHERE,
    BOUND_MS,
    IDS,
    PIECES,
    WANTED,
    Call,
    Partition,
    Progressed,
    Slot,
)

CALLED = {"init": "initTransactions", "commit": "commitTransaction", "abort": "abortTransaction"}
GIVEN_UP = 7  # REQUEST_TIMED_OUT: what an abort leaves unanswered
FAILING = frozenset({"init_taken", "add_taken", "record_failed", "end_told"})
"""`FAILING` lists the events whose error a client takes note of."""


def slots_of(made: Iterable[Made]) -> list[int]:
    """Return the slots of the clients that must be able to make progress after these calls."""
    living = Living()
    for each in made:
        living.note(each, each.events)
    return living.slots()


class Living:
    """`Living` follows the clients of one run."""

    def __init__(self) -> None:
        self._client: dict[int, int] = {}  # by slot, since it has asked for its id
        self._txn_id: dict[int, int] = {}  # by client
        self._asked: dict[int, int] = {}  # by transactional id: the client that asked last
        self._failed: set[int] = set()
        self._latest: dict[int, str] = {}  # by slot: its last call that was possible
        self._idle: set[int] = set()  # clients whose last call has come to its end
        self._errors: dict[int, Counter[int]] = defaultdict(Counter)  # by client, in the last call

    def note(self, made: Made, events: Sequence[Event]) -> None:
        name, slot = made.call.name, made.call.get("slot")
        if name == "restart_client":
            self._client.pop(slot, None)
        elif name in ("probe", "newcomers"):
            self._client.clear()
        self._errors.clear()
        for event in events:
            kind, client, error = read(event, "kind"), read(event, "client", -1), read(event, "error", 0)
            if kind == "init_sent":
                self._txn_id[client] = read(event, "txn_id", 0)
                self._asked[self._txn_id[client]] = client
                if name == "init":
                    self._client[slot] = client
            elif kind == "client_failed":
                self._failed.add(client)
            if kind in ("init_taken", "end_told") and not error:
                self._idle.add(client)
            elif kind in ("init_sent", "txn_begun"):
                self._idle.discard(client)
            if kind in FAILING and error not in (0, GIVEN_UP):
                self._errors[client][error] += 1
        if name in CALLED and made.result:
            self._latest[slot] = CALLED[name]

    def slots(self) -> list[int]:
        return [slot for slot, client in sorted(self._client.items()) if self._must(client)]

    def _must(self, client: int) -> bool:
        return client not in self._failed and self._asked.get(self._txn_id[client]) == client

    def progressed(self, made: Made) -> Iterator[tuple[Broken, Concerned]]:
        """Return whether the client that was driven (`scenarios.progress`) makes progress, if it must."""
        slot: int = made.call.get("slot")
        result: Progressed = made.result
        client = self._client.get(slot, -1)
        if result.through or client < 0 or not self._must(client):
            return
        subjects = frozenset[Hashable]([("client", client)])
        words = f"client {client} is alive and not fenced, faults have stopped, and it "
        yield (
            Broken("txn.P11", words + self._hindrance(slot, client, result), None, "result.through"),
            frozenset([subjects]),
        )

    def _hindrance(self, slot: int, client: int, result: Progressed) -> str:
        if result.waits:
            call = CALLED.get(result.waits, self._latest.get(slot, ""))
            call = "beginTransaction" if client in self._idle or not call else call
            return f"waits in {call} for more than {BOUND_MS // 1000} s{self._repeated(client)}"
        ended = f"{result.ended} of {result.tried} transactions end as it asks, of {len(WANTED)} that should"
        return f"does not get on: {ended}{self._repeated(client)}"

    def _repeated(self, client: int) -> str:
        most = self._errors[client].most_common(1)
        return "".join(f"; {error_text(error)} comes {count} times" for error, count in most if count > 1)


# The verbs of scenarios on transactions are the steps that they have in common.

BACKOFF_MS = 100
FIRST_READER_AT_THE_END = 100  # those before read on and on; those of the end read everything from the start
FIRST_READER_IN_PIECES = 300


class Sized(NamedTuple):
    """A `Sized` is what is drawn for an example. ``lone`` is whether each id has one producer only; ``late`` whether
    copies may arrive late; ``records`` is how many are in each batch that scenarios send; ``chance`` selects what is
    played first (0: nothing), and at the end."""

    config: dict[str, Any]
    lone: bool
    late: bool
    records: int = 1
    chance: int = 0


class Verbs(Machine, steps={}):
    """`Verbs` are the steps from which scenarios are made; ``lone``, ``late``, ``records`` are as in `Sized`."""

    call_type = Call
    lone = late = False
    records, chance, readers = 1, 0, FIRST_READER_IN_PIECES

    def begin(self, drawn: tuple[Any, ...]) -> None:
        config, self.lone, self.late, self.records, self.chance = Sized(*drawn)
        if not self.can(IDS) and "ids" in config:
            config = {**config, "clients": max(1, config["clients"] - config["ids"] + 1)}
        self.start({key: value for key, value in config.items() if self.can(ABILITY_OF_KEY.get(key, ""))})

    def can(self, ability: str) -> bool:
        return ability not in self.session.lacks

    def make(self, call: Any) -> Made | None:
        """Make a call, with as many records in a batch as the example demands where the call does not. What the
        implementation lacks is left out of a call, or the call is not made."""
        if call.name == "send" and self.records > 1 and call.get("count") == 1:
            call = call.but(count=self.records)
        for ability, (method, parameter) in ABILITIES.items():
            if call.name == method and not self.can(ability):
                if not parameter:
                    return None
                arguments = dict(call.arguments)
                arguments.pop(parameter, None)
                call = type(call)(method, **arguments)
        return super().make(call)

    def teardown(self) -> None:
        """Let the cluster settle, read everything, let the present clients go on, and let a new producer try whether
        all is well. In half of the examples they go on before it settles as well: later an open transaction has timed
        out, which is the end of its client; and some of them would have repaired what hangs then."""
        if hasattr(self, "run"):
            for partition in sorted(self.away):
                self.call("come_back", partition)
            self.at_the_end()
            if len(self.run.made) % 2:
                self.those_there_go_on()
            self.call("settle", FIRST_READER_AT_THE_END)
            self.in_pieces(self.records % int(self.run.config["partitions"]), self.records)
            self.those_there_go_on()
            self.call("probe")

    def those_there_go_on(self) -> None:
        for slot in slots_of(self.run.made):
            self.call("progress", slot)

    def at_the_end(self) -> None:
        """Do what has to be done before the cluster settles."""

    @property
    def away(self) -> set[int]:
        """Return the partitions that have no leader."""
        away: set[int] = set()
        for made in self.run.made if hasattr(self, "run") else ():
            if made.call.name == "leave":
                away.add(made.call.get("partition"))
            elif made.call.name == "come_back":
                away.discard(made.call.get("partition"))
        return away

    def in_pieces(self, partition: int, most: int, offset: int = 0) -> None:
        """Let a new reader read a data partition piece by piece, from some offset on."""
        if self.can(PIECES) and partition not in self.away:
            self.call("in_pieces", self.readers, partition, most, offset if self.can(ANYWHERE) else 0)
            self.readers += 2

    @property
    def ids(self) -> int:
        return int(self.run.config.get("ids", 1))

    def rival(self, slot: int) -> int:
        """Return the next slot with the same transactional id; the same slot where there is none."""
        clients = int(self.run.config["clients"])
        own = [number for number in range(clients) if (number - slot) % self.ids == 0]
        return own[(own.index(slot) + 1) % len(own)]

    def stranger(self, slot: int) -> int:
        """Return the next slot with another transactional id, where there are several."""
        clients = int(self.run.config["clients"])
        others = (slot + step for step in range(1, clients) if (self.index("clients", slot + step) - slot) % self.ids)
        return self.index("clients", next(others, slot))

    def play_one(self, chance: int, *names: str) -> None:
        """Play one of the scenarios of these names; ``chance`` alone decides which, and with which arguments, because
        Hypothesis draws much the same for one example as for the one before."""
        random = Random(chance)
        self.play(getattr(type(self), random.choice(names)), random)

    def otherwise(self) -> bool:
        return self.did("log_append")

    def slot(self, number: int) -> int:
        return self.index("clients", number)

    def partition(self, number: int) -> int:
        """Return the partition of this number: a data partition, or behind them one of offsets."""
        return number % int(self.run.config["partitions"] + self.run.config["groups"])

    def go_on(self) -> None:
        self.deliver_all()
        for _ in range(2):
            self.call("advance", BACKOFF_MS)
            self.deliver_all()

    def read(self, partition: int, committed: bool = True) -> None:
        """Let a reader read on, or fetch the committed offset of a group."""
        number, data = self.partition(partition), int(self.run.config["partitions"])
        if number >= data:
            self.call("fetch_offset", 0, number)
        else:
            self.call("read", 0 if committed else 1, number, committed)

    def opened(self, slot: int) -> int:
        """Return the slot, whose producer has now begun a transaction, if that was possible."""
        slot = self.slot(slot)
        if self.did("begin", slot) or self.run.over:
            return slot
        if not self.did("init", slot):
            self.did("abort", slot)
        self.go_on()
        if not self.did("begin", slot) and not (self.waits(slot) and self.did("begin", slot)):
            self.renew(slot)
            self.go_on()
            self.call("begin", slot)
        return slot

    def waits(self, slot: int) -> bool:
        """Wait for a producer that cannot begin, in some examples; return whether it was waited for. Otherwise a new
        one may take its place, which would hide that the producer never can begin."""
        waited = len(self.run.made) % 2 == 1 and slot in slots_of(self.run.made)
        if waited:
            self.call("progress", slot)
        return waited

    def with_record(self, slot: int, partition: int) -> tuple[int, int]:
        """Begin a transaction with one record that is written, if that was possible."""
        slot, partition = self.opened(slot), self.partition(partition)
        self.write(slot, partition)
        return slot, partition

    def write(self, slot: int, partition: int) -> None:
        self.call("send", slot, partition)
        self.deliver_all()

    def end(self, slot: int, commit: bool) -> bool:
        return self.did("commit" if commit else "abort", slot)

    def finish(self, slot: int, commit: bool) -> None:
        self.end(slot, commit)
        self.go_on()

    def read_on(self, partition: int, committed: bool = True) -> None:
        self.go_on()
        self.read(partition, committed)

    def renew(self, slot: int) -> None:
        self.call("restart_client", slot)
        self.call("init", slot)

    def take_over(self, slot: int) -> None:
        if not self.did("init", slot):
            self.renew(slot)

    def stored_copy(self, kind: str, commit: bool, slot: int) -> Message | None:
        """Go on until the end of a transaction; return the copy of one message of this kind that is still in flight,
        held up from now on."""
        ended = False
        for _ in range(BURST):
            if self.send_first(kind, keep=True):
                left = self.first(kind)
                self.hold(left)
                if not ended and left is not None:
                    self.deliver_all()
                    self.end(slot, commit)
                return left
            oldest = next(iter(self.waiting()), None)
            if oldest is not None:
                self.send(oldest)
            elif not self.otherwise():
                if ended:
                    return None
                ended = True
                self.end(slot, commit)
        return None


# In these scenarios an instance that was fenced, or one that has nothing to end, sends one request, and its successor
# goes on: they test the answer, and what the request leaves behind.
#
# A producer that is refused sends nothing more, so each request has a scenario of its own, or a turn.

GIVEN_UP_MS = 30_000
SEND, COMMIT, ABORT = range(3)


class Answers(Verbs, steps={}):
    """This machine adds scenarios about answers to the other scenarios."""

    @scenario(when=lambda self: not self.lone)
    def zombie_asks(
        self, slot: Slot, partition: Partition, ask: Annotated[int, Between(SEND, ABORT)], open_before: bool,
        open_after: bool, elsewhere: bool,
    ) -> None:  # fmt: skip
        """An instance that was fenced sends one request, and then the new owner commits. With ``open_before`` the old
        one had written a record; with ``open_after`` the new one has when the request is sent; with ``elsewhere`` that
        is in another partition."""
        old, at = self.with_record(slot, partition) if open_before else (self.opened(slot), self.partition(partition))
        new = self.slot(old + 1)
        if new == old:
            return
        self.renew(new)
        self.go_on()
        if open_after:
            self.with_record(new, at + elsewhere)
        if ask == SEND:
            self.call("send", old, at)
        else:
            self.end(old, commit=ask == COMMIT)
        self.go_on()
        self.committed(new, at)

    @scenario(when=lambda self: not self.lone)
    def zombie_asks_for_the_next_epoch(self, slot: Slot, partition: Partition, open_after: bool) -> None:
        """An instance that has given up a record, and has aborted, asks for the next epoch (KIP-360, before KIP-890,
        part 2); the request is lost, another takes over meanwhile, and the request is sent again."""
        old, at = self.with_record(slot, partition)
        new = self.slot(old + 1)
        if new == old:
            return
        self.call("send", old, at)
        self.send_first("produce", name="drop")
        self.end(old, commit=False)
        self.deliver_all(without=("init",))
        while self.send_first("init", name="drop") and not self.run.over:
            pass
        self.renew(new)
        self.go_on()
        if open_after:
            self.with_record(new, at)
        self.call("advance", GIVEN_UP_MS)
        self.go_on()
        self.committed(new, at)

    @scenario
    def ends_nothing(self, slot: Slot, partition: Partition, lost: bool, twice: bool) -> None:
        """A transaction is aborted of which no record has arrived. With ``lost`` the answer is lost, so that the end is
        asked for again; with ``twice`` the same happens to the next one."""
        for _ in range(1 + twice):
            slot, at = self.opened(slot), self.partition(partition)
            self.call("send", slot, at)
            self.hold(*self.waiting("produce"), *self.waiting("add"))
            self.end(slot, commit=False)
            if lost:
                self.deliver_all(without=("end_answer",))
                self.send_first("end_answer", name="drop")
                self.call("advance", GIVEN_UP_MS)
            self.go_on()
        self.let_go()
        self.go_on()
        self.committed(slot, at)

    @scenario
    def asks_again(self, slot: Slot, partition: Partition, kind: Annotated[int, Between(0, 3)]) -> None:
        """One answer of each kind is lost, and its request is made again."""
        lost = ("init_answer", "add_answer", "produce_answer", "end_answer")[kind]
        slot, at = self.slot(slot), self.partition(partition)
        self.renew(slot)
        self._lose(lost)
        if not self.did("begin", slot):
            return
        self.call("send", slot, at)
        self._lose(lost)
        self.end(slot, commit=True)
        self._lose(lost)
        self.committed(slot, at)

    @scenario
    def next_epoch_lost(self, slot: Slot, partition: Partition, written: bool) -> None:
        """After the abort of a record in doubt the next epoch is asked for (v1); its answer is lost, and the epoch is
        asked for again."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot, at)
        if written:
            self.send_first("produce")
        self.send_first("produce_answer" if written else "produce", name="drop")
        self.end(slot, commit=False)
        self.deliver_all(without=("init",))
        self.deliver_all(without=("init_answer",))
        self.send_first("init_answer", name="drop")
        self.call("advance", GIVEN_UP_MS)
        self.go_on()
        self.with_record(slot, at)
        self.finish(slot, commit=True)

    def _lose(self, kind: str) -> None:
        self.deliver_all(without=(kind,))
        if self.send_first(kind, name="drop"):
            self.call("advance", GIVEN_UP_MS)
        self.go_on()

    def committed(self, slot: int, partition: int) -> None:
        """The owner commits what it has open, and then another transaction; both are read."""
        self.finish(slot, commit=True)
        self.call("begin", slot)
        self.call("send", slot, partition)
        self.go_on()
        self.finish(slot, commit=True)
        self.read(partition)
