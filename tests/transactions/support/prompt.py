"""The prompt reference implementation does by itself, and at once, what a broker does between two requests.

>>> system = prompt({"seed": 1, "mode": "v2", "clients": 1, "partitions": 1})
>>> system.init(0)
True
>>> system.deliver(0)  # the new epoch is recorded, too, before the next call
>>> system.messages()
[(1, 'init_answer', 'coordinator', 'client-0', 0)]

It has the plug of `transactions.reference`, seen like a broker over TCP. Appends to the transaction log, verification
and markers are finished before a call returns, only messages between clients and brokers are in flight, and only events
that clients and readers see are reported. As with real brokers, the driver decides when each request and each answer
arrives, if at all, and how often.
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
    """A `Prompt` is a driven cluster whose brokers act at once. With `collapse` they retry what they may (`BUSY`), and
    the client learns of it only if that fails. With `restarts` the cluster is one broker, which the driver may restart.
    """

    def __init__(self, system: System, collapse: bool, restarts: bool = False) -> None:
        self.system = system
        self.collapse = collapse
        self.restarts = restarts

    @property
    def env(self) -> Environment:
        return self.system.env

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        """Return the messages between clients and brokers: (number, kind, source, target, request), oldest first."""
        return [message for message in self.system.messages() if message[1] in REQUESTS or message[1] in ANSWERS]

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver a message now, with all its effects on the brokers. Errors: KeyError."""
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
        self.system.drop(number)

    def init(self, slot: int) -> bool:
        return self.system.init(slot)

    def begin(self, slot: int) -> bool:
        return self.system.begin(slot)

    def send(self, slot: int, partition: int) -> bool:
        """Send one record, or for an offsets partition call sendOffsetsToTransaction()."""
        return self.system.send(slot, partition)

    def commit(self, slot: int) -> bool:
        return self.system.commit(slot)

    def abort(self, slot: int) -> bool:
        return self.system.abort(slot)

    def restart_client(self, slot: int) -> None:
        self.system.restart_client(slot)

    def fence(self) -> bool:
        """Call Admin.fenceProducers([id 0]) by a new admin instance."""
        return self.system.fence()

    def log_append(self, ok: bool = True) -> bool:
        """Return False, since the brokers append by themselves."""
        return False

    def fail_over(self, durable: bool = True) -> None:
        """With `restarts`, restart the coordinator and the leaders from their logs, and else do nothing."""
        if self.restarts:
            self.system.fail_over(True)
            for leader in self.system.leaders:
                leader.change()
            self._settle()

    def change_leader(self, partition: int) -> None:
        self.fail_over()

    def advance(self, ms: int) -> None:
        self.system.advance(ms)
        self._settle()

    def read(
        self, reader: int, partition: int, committed: bool = True, offset: int = 0, most: int = 0
    ) -> list[tuple[int, int]]:
        """Return the (offset, record) pairs that a reader gets next."""
        return self.system.read(reader, partition, committed, offset, most)

    def fetch_offset(self, reader: int, partition: int) -> tuple[int, int]:
        """Call OffsetFetch with require_stable and return (error, record of the offset), with -1 for none."""
        return self.system.fetch_offset(reader, partition)

    def drain_events(self) -> list[Event]:
        """Return the events since the last call that a client or reader can see."""
        return [event for event in self.system.drain_events() if event.kind in BLACK_BOX]

    def _settle(self) -> None:
        """Deliver the brokers' own messages, oldest first, until none is left."""
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
    """Return a prompt cluster. `config` has the keys of `transactions.config.Config`, `collapse` (default False), and
    `timeouts` (default False: no transaction times out, and no transactional id expires). `bootstrap` is ignored.
    `factory` makes the cluster inside: the reference, or a broken one. Errors: ValueError."""
    inner = {key: value for key, value in config.items() if key not in OF_THE_WIRE}
    if not config.get("timeouts", False):
        inner |= {"timeout_check_ms": NEVER_MS, "expiration_check_ms": NEVER_MS}
    return Prompt(factory(inner), bool(config.get("collapse", False)), restarts)
