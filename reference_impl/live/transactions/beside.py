"""Two systems driven as one: every call is made on both, and the first difference raises.

`beside_reference(config)` is real brokers (`over_tcp`) beside the reference made prompt (`prompt`), to be driven like
either. Compared after every call, in this order, is what can be told from outside: the result, the events, and what is
in flight between clients and brokers. Results and events are compared as they are: error codes, epochs, sequence
numbers, offsets (markers take one each, so that a marker too many shows in the next record), how far a reader may read.
At the end of an example everything is read once more from the start at both isolation levels, so that the same records
of the same transactions have become visible on both sides, or the example has failed.

Not compared is what is chance, or unseen:

- names: message numbers, request numbers and producer ids are numbered on each side in order of appearance (a cluster's
  ids start anywhere; in the reference markers take request numbers, too). An id given out twice stays one;
- the time, and the numbers of events (`time_us`, `step`);
- how often an answer was "try again" (`collapse`): how long a transition takes is chance;
- the offset that acknowledges a committed offset: Kafka's answer to TxnOffsetCommit has none.

Brokers finish a transaction some time after they have answered its end, and meanwhile a late copy of a record meets the
transaction still open: that, too, would be chance. `over_tcp` waits for it after each request that ends one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.live.transactions.over_tcp import Control, over_tcp
from fencepost.reference_impl.live.transactions.prompt import prompt
from fencepost.reference_impl.live.transactions.sides import (
    Difference,
    Flying,
    Message,
    Plugged,
    Said,
    Side,
    alike,
    first_difference,
)
from fencepost.reference_impl.transactions.events import Event

ENDING = frozenset({"init", "end"})  # requests after which a broker may have a transaction to finish


class Beside:
    """Both systems behind one plug. `left` is what is judged, `right` what it is held against."""

    def __init__(self, left: Side, right: Side, partitions: int) -> None:
        self.sides = left, right
        self.partitions = partitions  # data partitions: those behind are of offsets
        self._numbers: dict[tuple[int, int], int] = {}
        self._events: list[Event] = []
        self._flying: list[Message] = []
        self._compared: list[list[Message]] = []
        self._compare_events()
        self._compare_messages()

    def messages(self) -> list[Message]:
        """The messages in flight on both sides: (number, kind, source, target, request), oldest first."""
        return list(self._flying)

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message now; `keep` leaves a copy in flight. Raises KeyError if there is no such message."""
        left, right = self._of(number, keep)
        kind = next(m[1] for m in self._flying if m[0] == number)
        self._both("deliver", left, right, ends=kind in ENDING)

    def drop(self, number: int) -> None:
        """Lose a message. Raises KeyError if there is no such message."""
        left, right = self._of(number)
        self._both("drop", left, right)

    def init(self, slot: int) -> bool:
        """initTransactions()."""
        return bool(self._call("init", slot))

    def begin(self, slot: int) -> bool:
        """beginTransaction()."""
        return bool(self._call("begin", slot))

    def send(self, slot: int, partition: int) -> bool:
        """send() of one record; for an offsets partition sendOffsetsToTransaction()."""
        return bool(self._call("send", slot, partition))

    def commit(self, slot: int) -> bool:
        """commitTransaction()."""
        return bool(self._call("commit", slot))

    def abort(self, slot: int) -> bool:
        """abortTransaction()."""
        return bool(self._call("abort", slot))

    def restart_client(self, slot: int) -> None:
        """Crash; a new instance takes the slot."""
        self._call("restart_client", slot)

    def fence(self) -> bool:
        """Admin.fenceProducers([id 0]) by a fresh admin instance."""
        return bool(self._call("fence"))

    def log_append(self, ok: bool = True) -> bool:
        """Never anything to do: brokers append by themselves."""
        return bool(self._call("log_append", ok))

    def fail_over(self, durable: bool = True) -> None:
        """Another node takes over the transaction log, where that is the driver's to say."""
        self._call("fail_over", durable)

    def change_leader(self, partition: int) -> None:
        """Another leader for the partition, where that is the driver's to say."""
        self._call("change_leader", partition)

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass."""
        self._call("advance", ms)

    def read(self, reader: int, partition: int, committed: bool = True) -> list[tuple[int, int]]:
        """The (offset, record) pairs that a reader gets next."""
        return list(self._call("read", reader, partition, committed))

    def fetch_offset(self, reader: int, partition: int) -> tuple[int, int]:
        """OffsetFetch with require_stable: (error, record of the committed offset), record -1 if there is none."""
        error, record = self._call("fetch_offset", reader, partition)
        return error, record

    def drain_events(self) -> list[Event]:
        """The events since the last call, which are the same on both sides, under the names of neither."""
        fresh, self._events = self._events, []
        return fresh

    # One call on both sides

    def _of(self, number: int, *arguments: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The arguments for each side of a call about a message."""
        for side in self.sides:
            if number not in side.numbers:
                raise KeyError(f"no message {number} in flight: in flight are {sorted(side.numbers)}")
        left, right = ((side.numbers[number], *arguments) for side in self.sides)
        return left, right

    def _call(self, method: str, *arguments: Any) -> Any:
        return self._both(method, arguments, arguments)

    def _both(
        self, method: str, left_arguments: tuple[Any, ...], right_arguments: tuple[Any, ...], ends: bool = False
    ) -> Any:
        left, right = self.sides
        # The quick side first, so that what is wrong with the driver is known before a broker is asked.
        expected = right.call(method, right_arguments)
        result = left.call(method, left_arguments)
        if ends:
            left.settle()
        if not alike(result, expected):
            raise self._difference(f"{method}{right_arguments} returned", result, expected)
        self._compare_events()
        self._compare_messages()
        if isinstance(result, Exception):
            raise result
        return result

    # What is compared

    def _compare_events(self) -> None:
        left, right = (side.events() for side in self.sides)
        different = first_difference(left, right, self.partitions)
        if different is not None:
            raise self._difference(*different)
        self._events += left

    def _compare_messages(self) -> None:
        flying = [list(side.system.messages()) for side in self.sides]
        if flying == self._compared:
            return
        self._compared = flying
        left, right = ([side.renamed(m) for m in found] for side, found in zip(self.sides, flying, strict=True))
        if left != right:
            pairs = zip(left, right, strict=False)
            first = next((n for n, (m, other) in enumerate(pairs) if m != other), min(len(left), len(right)))
            values = ["nothing" if first == len(found) else _told(found[first]) for found in (left, right)]
            raise self._difference(f"message {first} in flight is", *values)
        numbers = []
        for position, pair in enumerate(zip(*flying, strict=True)):
            shared = (pair[0][0], pair[1][0])
            if shared not in self._numbers:
                self._numbers[shared] = len(self._numbers)
                self._compare_answers(left[position], pair)
            numbers.append(self._numbers[shared])
        for side, found in zip(self.sides, flying, strict=True):
            side.numbers = {number: message[0] for number, message in zip(numbers, found, strict=True)}
        self._flying = [(number, *message) for number, message in zip(numbers, left, strict=True)]

    def _compare_answers(self, message: Flying, pair: tuple[Message, ...]) -> None:
        """Compare the contents of a new message, if it is an answer and both sides let one look."""
        mine, other = (side.said(each, self.partitions) for side, each in zip(self.sides, pair, strict=True))
        if mine is not None and other is not None and mine != other:
            column = next(name for name in Said._fields if getattr(mine, name) != getattr(other, name))
            what = f"{_told(message)}: {column} is"
            raise self._difference(what, getattr(mine, column), getattr(other, column))

    def _difference(self, what: str, left: object, right: object) -> Difference:
        names = [side.name for side in self.sides]
        return Difference(f"{what} {left} {names[0]}, {right} {names[1]}")


def beside(
    left: Callable[[dict[str, Any]], Plugged],
    right: Callable[[dict[str, Any]], Plugged],
    config: Mapping[str, Any],
    names: tuple[str, str] = ("on the left", "on the right"),
) -> Beside:
    """Two systems of one configuration, driven as one. `names` say in a `Difference` whose value is whose."""
    both = Side(names[0], left(dict(config))), Side(names[1], right(dict(config)))
    return Beside(*both, int(config.get("partitions", 2)))


def beside_reference(config: Mapping[str, Any], control: Control | None = None) -> Beside:
    """Real brokers beside the reference; keys of `config`: those of `over_tcp`.

    `collapse` is always on, and `release` is 4.3 unless it is given. `control` restarts the broker, if it is one.
    Raises ValueError, WireError where the brokers cannot be had, and `Difference` from any call.
    """
    both = {"release": "4.3", **config, "collapse": True}
    return beside(
        lambda inner: over_tcp(inner, control),
        lambda inner: prompt(inner, restarts=control is not None),
        both,
        ("over the wire", "in the reference"),
    )


def _told(message: Flying) -> str:
    return f"{message.kind} of request {message.request} from {message.source}"
