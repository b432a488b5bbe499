"""The requests of one cluster's clients, what of them is in flight, and which of them the coordinator has not answered.

Everything here is seen by whoever drives the cluster: what clients send, and what the network has in flight.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.online.numbering import Numbering

COMPOSITE = frozenset({"settle", "probe", "progress"})
"""Calls that do many things."""
COORDINATED = ("init", "add", "end", "check")
SENT = {"init_sent": "init", "add_sent": "add", "record_sent": "produce", "end_sent": "end"}


class Request(NamedTuple):
    """What is in a request, in the model's terms; -1 and 0 where something does not apply."""

    kind: str
    client: int
    txn: int
    partition: int
    record: int
    number: int
    next_base: int
    named: int
    commit: bool


class Requests:
    """By request number.  ``current``: the InitProducerId to which a client still takes the answer; ``records``: the
    (transaction, partition) of each record."""

    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering
        self.sent: dict[int, Request] = {}
        self.current: dict[int, int] = {}
        self.records: dict[int, tuple[int, int]] = {}
        self.flying: Counter[tuple[str, int]] = Counter()
        self.flew: Counter[tuple[str, int]] = Counter()  # the same before the last call
        self.messages: tuple[Message, ...] = ()  # the same, one by one
        self.new: list[int] = []  # sent in the last call
        self.answered: set[tuple[str, int]] = set()  # in the last call
        self.unanswered: set[tuple[str, int]] = set()  # arrived at the coordinator
        self.waited: set[tuple[str, int]] = set()  # the same, before the last call

    def note(self, event: Event) -> None:
        """Take note of what a client sends."""
        kind = SENT.get(read(event, "kind"))
        if kind is None:
            return
        number, pair = read(event, "request"), (read(event, "producer_id", -1), read(event, "epoch", -1))
        client, txn, record = read(event, "client"), read(event, "txn", -1), read(event, "record", -1)
        own = self.numbering.number(*pair)
        self.new.append(number)
        self.sent[number] = Request(
            kind, client, txn, read(event, "partition", -1), record, own, self.numbering.next_base(pair[0]),
            own if kind == "init" else 0, read(event, "outcome", -1) == 1,
        )  # fmt: skip
        if kind == "init":
            self.current[client] = number
        if record >= 0:
            self.records[record] = (txn, read(event, "partition"))

    def about(self, *kinds: str) -> list[int]:
        """The numbers of requests of these kinds that may have reached the coordinator in a call that delivers many:
        they were in flight or unanswered before it, or were sent in it."""
        before = {
            n for kind, n in (*self.flew, *self.waited) if kind in (*kinds, "produce" if "check" in kinds else "")
        }
        new = [
            n for n in self.new if self.sent[n].kind in kinds or ("check" in kinds and self.sent[n].kind == "produce")
        ]
        return sorted({*(n for n in before if n in self.sent), *new})

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Which requests a call had answered, and which are still to be."""
        name, message = made.call.name, made.message
        flying = self.flying if tuple(messages) == self.messages else Counter([(m[1], m[4]) for m in messages])
        new = () if flying is self.flying else [key for key, count in flying.items() if count > self.flying[key]]
        self.answered = {(kind.removesuffix("_answer"), n) for kind, n in new if kind.endswith("_answer")}
        self.flew, self.flying, self.waited, self.new = self.flying, flying, set(self.unanswered), []
        self.messages = tuple(messages)
        if name == "deliver" and message is not None and message[1] in COORDINATED:
            if (message[1], message[4]) not in self.answered:
                self.unanswered.add((message[1], message[4]))
        elif name in ("fail_over", *COMPOSITE):
            self.unanswered.clear()
        else:
            self.unanswered -= self.answered

    def waiting(self) -> tuple[str, int] | None:
        """Who is answered by the end of the append that is under way."""
        return min(self.waited, default=None)

    def others_wait(self, delivered: bool) -> bool:
        """Somebody's request is being written to the log.  ``delivered``: the call delivers another one."""
        return bool(self.waited if delivered else self.waited - self.answered)
