"""Which clients of a driven run must be able to get on, and whether they do (txn.P11).

Must: one that has asked for its transactional id, as the last of those that have that id, and was given no fatal error.
A client that asked before it may be fenced, and a fenced one is promised nothing; a time-out fences too, and of that
the client hears as a fatal error.  So nothing here has to be known of coordinators, and a black box shows enough.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from fencepost.properties.driving import Event, Made, read
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.transactions.scenarios.progress import BOUND_MS, WANTED, Progressed

CALLED = {"init": "initTransactions", "commit": "commitTransaction", "abort": "abortTransaction"}
GIVEN_UP = 7  # REQUEST_TIMED_OUT: what an abort leaves unanswered
FAILING = frozenset({"init_taken", "add_taken", "record_failed", "end_told"})
"""Events whose error a client takes note of."""


def slots_of(made: Iterable[Made]) -> list[int]:
    """Slots of the clients that must be able to get on after these calls."""
    living = Living()
    for each in made:
        living.note(each, each.events)
    return living.slots()


class Living:
    """The clients of one run."""

    def __init__(self) -> None:
        self._client: dict[int, int] = {}  # by slot, since it has asked for its id
        self._txn_id: dict[int, int] = {}  # by client
        self._asked: dict[int, int] = {}  # by transactional id: the client that asked last
        self._failed: set[int] = set()
        self._latest: dict[int, str] = {}  # by slot: its last call that was possible
        self._idle: set[int] = set()  # clients whose last call has come to its end
        self._errors: dict[int, Counter[int]] = defaultdict(Counter)  # by client, in the last call

    def note(self, made: Made, events: Sequence[Event]) -> None:
        """A call, with what was shown in it."""
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
        """Of the clients that must be able to get on."""
        return [slot for slot, client in sorted(self._client.items()) if self._must(client)]

    def _must(self, client: int) -> bool:
        return client not in self._failed and self._asked.get(self._txn_id[client]) == client

    def progressed(self, made: Made) -> Iterator[tuple[Broken, Concerned]]:
        """Does the client that was driven (`scenarios.progress`) get on, if it must?"""
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
        errors = self._errors[client]
        return "".join(f"; error {error} comes {count} times" for error, count in errors.most_common(1) if count > 1)
