"""The verbs of scenarios on transactions: what they do again and again, in a word each."""

from random import Random
from typing import Any, NamedTuple

from fencepost.properties.driving import Made, Message
from fencepost.properties.machine import BURST, Machine
from fencepost.properties.transactions.driving.interface import ABILITIES, ABILITY_OF_KEY, ANYWHERE, IDS, PIECES
from fencepost.properties.transactions.driving.programs import Call
from fencepost.properties.transactions.living import slots_of

BACKOFF_MS = 100
FIRST_READER_AT_THE_END = 100  # those before read on and on; those of the end read everything from the start
FIRST_READER_IN_PIECES = 300


class Sized(NamedTuple):
    """What is drawn for an example.  ``lone``: one producer has each id for itself; ``late``: copies may come late;
    ``records``: in each batch that scenarios send; ``chance``: what is played first (0: nothing), and at the end."""

    config: dict[str, Any]
    lone: bool
    late: bool
    records: int = 1
    chance: int = 0


class Verbs(Machine, steps={}):
    """``lone``, ``late``, ``records``: as in `Sized`."""

    call_type = Call
    lone = late = False
    records, chance = 1, 0

    def begin(self, drawn: tuple[Any, ...]) -> None:
        config, self.lone, self.late, self.records, self.chance = Sized(*drawn)
        if not self.can(IDS) and "ids" in config:
            config = {**config, "clients": max(1, config["clients"] - config["ids"] + 1)}
        self.start({key: value for key, value in config.items() if self.can(ABILITY_OF_KEY.get(key, ""))})
        self.readers = FIRST_READER_IN_PIECES

    def can(self, ability: str) -> bool:
        """Has the implementation this one of the `ABILITIES`?"""
        return ability not in self.session.lacks

    def make(self, call: Any) -> Made | None:
        """A batch has as many records as the example says, where a call does not; and what the implementation lacks is
        left out of a call, or the call is not made."""
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
        """The cluster settles, everything is read, those who are there go on, and a new producer tries whether all is
        well.  In half of the examples they go on before it settles as well: later a transaction that is open has timed
        out, which is the end of its client; and what hangs then, some of them would have put right."""
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
        """Everybody who must be able to."""
        for slot in slots_of(self.run.made):
            self.call("progress", slot)

    def at_the_end(self) -> None:
        """Before all settles."""

    @property
    def away(self) -> set[int]:
        """Partitions that have no leader."""
        away: set[int] = set()
        for made in self.run.made if hasattr(self, "run") else ():
            if made.call.name == "leave":
                away.add(made.call.get("partition"))
            elif made.call.name == "come_back":
                away.discard(made.call.get("partition"))
        return away

    def in_pieces(self, partition: int, most: int, offset: int = 0) -> None:
        """A new reader takes a data partition piece by piece, from some offset on."""
        if self.can(PIECES) and partition not in self.away:
            self.call("in_pieces", self.readers, partition, most, offset if self.can(ANYWHERE) else 0)
            self.readers += 2

    @property
    def ids(self) -> int:
        """How many transactional ids there are."""
        return int(self.run.config.get("ids", 1))

    def rival(self, slot: int) -> int:
        """The next slot with the same transactional id; the same slot where there is no other."""
        clients = int(self.run.config["clients"])
        own = [number for number in range(clients) if (number - slot) % self.ids == 0]
        return own[(own.index(slot) + 1) % len(own)]

    def stranger(self, slot: int) -> int:
        """The next slot with another transactional id, where there are several."""
        clients = int(self.run.config["clients"])
        others = (slot + step for step in range(1, clients) if (self.index("clients", slot + step) - slot) % self.ids)
        return self.index("clients", next(others, slot))

    def play_one(self, chance: int, *names: str) -> None:
        """Play one of the scenarios of these names; which, and with which arguments, is said by ``chance`` alone, as
        the numbers of one example are much like those of the one before."""
        random = Random(chance)
        self.play(getattr(type(self), random.choice(names)), random)

    def otherwise(self) -> bool:
        return self.did("log_append")

    def slot(self, number: int) -> int:
        return self.index("clients", number)

    def partition(self, number: int) -> int:
        """A data partition, or behind them one of offsets."""
        return number % int(self.run.config["partitions"] + self.run.config["groups"])

    def go_on(self) -> None:
        """Everything arrives, and clients try again what they are to try again."""
        self.deliver_all()
        for _ in range(2):
            self.call("advance", BACKOFF_MS)
            self.deliver_all()

    def read(self, partition: int, committed: bool = True) -> None:
        """A reader that reads on and on, or the committed offset of a group."""
        number, data = self.partition(partition), int(self.run.config["partitions"])
        if number >= data:
            self.call("fetch_offset", 0, number)
        else:
            self.call("read", 0 if committed else 1, number, committed)

    def opened(self, slot: int) -> int:
        """The slot, whose producer has now begun a transaction, if that could be had."""
        slot = self.slot(slot)
        if self.did("begin", slot) or self.run.over:
            return slot
        if not self.did("init", slot):
            self.did("abort", slot)
        self.go_on()
        if not self.did("begin", slot) and not (self.waits(slot) and self.did("begin", slot)):
            self.call("restart_client", slot)
            self.call("init", slot)
            self.go_on()
            self.call("begin", slot)
        return slot

    def waits(self, slot: int) -> bool:
        """The producer cannot begin: a new one may take its place, which would hide that it never can, or it is waited
        for.  Was it?"""
        waited = len(self.run.made) % 2 == 1 and slot in slots_of(self.run.made)
        if waited:
            self.call("progress", slot)
        return waited

    def with_record(self, slot: int, partition: int) -> tuple[int, int]:
        """A transaction with one record that is written, if that could be had."""
        slot, partition = self.opened(slot), self.partition(partition)
        self.call("send", slot, partition)
        self.deliver_all()
        return slot, partition

    def end(self, slot: int, commit: bool) -> bool:
        return self.did("commit" if commit else "abort", slot)

    def take_over(self, slot: int) -> None:
        """A producer asks for the id in this slot, a new one if need be."""
        if not self.did("init", slot):
            self.call("restart_client", slot)
            self.call("init", slot)

    def kept(self, kind: str, commit: bool, slot: int) -> Message | None:
        """Go on until the end of a transaction; what is left of one message of this kind, of which a copy was kept, and
        which is held up from now on."""
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
