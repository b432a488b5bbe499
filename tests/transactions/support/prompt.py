"""The reference implementation made prompt: it does by itself, and at once, what a broker does between two requests.

>>> system = prompt({"seed": 1, "mode": "v2", "clients": 1, "partitions": 1})
>>> system.init(0)
True
>>> system.deliver(0)  # the new epoch is recorded, too, before the next call
>>> system.messages()
[(1, 'init_answer', 'coordinator', 'client-0', 0)]

The same plug as `transactions.reference`, seen from as far away as a broker over TCP: appends to the transaction log,
the leaders' questions and the markers are finished before a call returns, in flight is only what goes between clients
and brokers, and of the events only those are shown that clients and readers see. What is left to the driver is what is
left to it with real brokers: when each request and each answer arrives, if at all, and how often.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.kafka.environment import KIND_NAMES, Environment, Event, Kind
from fencepost.reference_impl.live.transactions.remote import BUSY
from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.systems.transactions import System, reference

REQUESTS = frozenset({"init", "add", "produce", "end"})
ANSWERS = frozenset(f"{kind}_answer" for kind in REQUESTS)

# Calls and answers of clients, and what readers get; all else happens inside of brokers.
BLACK_BOX = frozenset(name for code, name in KIND_NAMES.items() if code <= Kind.FENCE_TOLD or code >= Kind.FETCHED)

OF_THE_WIRE = frozenset({"bootstrap", "collapse", "timeouts"})
NEVER_MS = 10**15
MAX_STEPS = 1_000  # of the brokers among themselves, after one call; a broken one could go on for ever
MAX_TRIES = 5


class Prompt:
    """One driven cluster whose brokers are as quick as can be. `collapse`: they try again what they may be asked again
    (`BUSY`), and the client hears of it only if that does not help. `restarts`: it is one broker, and the driver
    may restart it."""

    def __init__(self, system: System, collapse: bool, restarts: bool = False) -> None:
        self.system = system
        self.collapse = collapse
        self.restarts = restarts

    @property
    def env(self) -> Environment:
        """The environment of the nodes, in which messages in flight can be looked at."""
        return self.system.env

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        """The messages in flight between clients and brokers: (number, kind, source, target, request), oldest first."""
        return [message for message in self.system.messages() if message[1] in REQUESTS or message[1] in ANSWERS]

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message now, with all that follows from it on the brokers' side. Raises KeyError."""
        network = self.system.env.network
        request = network.in_flight.get(number)
        latest = self._latest()
        self.system.deliver(number, keep)
        self._settle()
        if request is None or request.kind not in REQUESTS or not self.collapse:
            return
        for _ in range(MAX_TRIES):
            answers = [m for n, m in network.in_flight.items() if n > latest and _is_answer(m, request)]
            if not answers or any(m.body.data.error_code not in BUSY for m in answers):
                return
            for answer in answers:
                network.drop(answer.number)
            network.nodes[request.target].arrive(request)
            self._settle()

    def drop(self, number: int) -> None:
        """Lose a message. Raises KeyError if there is no such message."""
        self.system.drop(number)

    def init(self, slot: int) -> bool:
        """initTransactions()."""
        return self.system.init(slot)

    def begin(self, slot: int) -> bool:
        """beginTransaction()."""
        return self.system.begin(slot)

    def send(self, slot: int, partition: int) -> bool:
        """send() of one record; for an offsets partition sendOffsetsToTransaction()."""
        return self.system.send(slot, partition)

    def commit(self, slot: int) -> bool:
        """commitTransaction()."""
        return self.system.commit(slot)

    def abort(self, slot: int) -> bool:
        """abortTransaction()."""
        return self.system.abort(slot)

    def restart_client(self, slot: int) -> None:
        """Crash; a new instance takes the slot."""
        self.system.restart_client(slot)

    def fence(self) -> bool:
        """Admin.fenceProducers([id 0]) by a fresh admin instance."""
        return self.system.fence()

    def log_append(self, ok: bool = True) -> bool:
        """Never anything to do: the brokers append by themselves."""
        return False

    def fail_over(self, durable: bool = True) -> None:
        """With `restarts`, the coordinator and the partitions' leaders start from their logs; else nothing happens."""
        if self.restarts:
            self.system.fail_over(True)
            for leader in self.system.leaders:
                leader.change()
            self._settle()

    def change_leader(self, partition: int) -> None:
        """On one broker the same."""
        self.fail_over()

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass."""
        self.system.advance(ms)
        self._settle()

    def read(
        self, reader: int, partition: int, committed: bool = True, offset: int = 0, most: int = 0
    ) -> list[tuple[int, int]]:
        """The (offset, record) pairs that a reader gets next."""
        return self.system.read(reader, partition, committed, offset, most)

    def fetch_offset(self, reader: int, partition: int) -> tuple[int, int]:
        """OffsetFetch with require_stable: (error, record of the committed offset), record -1 if there is none."""
        return self.system.fetch_offset(reader, partition)

    def drain_events(self) -> list[Event]:
        """The events since the last call that a client or reader can tell of."""
        return [event for event in self.system.drain_events() if event.kind in BLACK_BOX]

    def _settle(self) -> None:
        """The brokers among themselves, oldest first, until nothing is left to do."""
        for _ in range(MAX_STEPS):
            inner = next((m for m in self.system.messages() if m[1] not in REQUESTS and m[1] not in ANSWERS), None)
            if inner is not None:
                self.system.deliver(inner[0])
            elif not self.system.log_append():
                return

    def _latest(self) -> int:
        return max(self.system.env.network.in_flight, default=-1)


def _is_answer(message: Message, request: Message) -> bool:
    return message.kind == f"{request.kind}_answer" and message.body.number == request.body.number


def prompt(
    config: Mapping[str, Any], factory: Callable[[dict[str, Any]], System] = reference, restarts: bool = False
) -> Prompt:
    """A prompt cluster; keys of `config`: those of `transactions.config.Config`, and `collapse` (default False), and
    `timeouts` (default False: no transaction is ever too old, and no transactional id forgotten). `bootstrap` is
    ignored. `factory` makes the cluster inside: the reference, or a broken one. Raises ValueError."""
    inner = {key: value for key, value in config.items() if key not in OF_THE_WIRE}
    if not config.get("timeouts", False):
        inner |= {"timeout_check_ms": NEVER_MS, "expiration_check_ms": NEVER_MS}
    return Prompt(factory(inner), bool(config.get("collapse", False)), restarts)
