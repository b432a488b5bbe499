"""What is a matter of choice when an event is read as a step of the model: whose request was behind it, and what went
to the log unseen."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.properties.agreement import Beyond, PlainInterpreter, Row, Seen, State
from fencepost.properties.driving import Event, Made
from fencepost.properties.transactions.observations.calls import BEGUN
from fencepost.properties.transactions.observations.events import (
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from fencepost.properties.transactions.observations.owners import Owners
from fencepost.properties.transactions.online import guesses
from fencepost.properties.transactions.online.members import NOTHING
from fencepost.properties.transactions.online.numbering import Numbering
from fencepost.properties.transactions.online.requests import COMPOSITE, Request, Requests


class Choosing(PlainInterpreter):
    """What is known of one cluster, and the rows that it leaves open.  ``bounds``: how much of everything the reading
    of the model has room for.

    The model is one of a single transactional id, ``txn_id``; where there are others (``ids``), their calls and events
    are left out.  What they do shows in two places: they let readers get less, of which the model says nothing, and
    their pending offsets are a reason to be told that none is stable (column ``others``)."""

    def __init__(self, config: Mapping[str, Any], bounds: Mapping[str, int]) -> None:
        self.bounds, self.asks, self.bumps = bounds, config["mode"] != "v1", config["mode"] == "v2"
        self.data: int = config["partitions"]
        self.timeout_ms: int = config.get("transaction_timeout_ms", 60_000)
        self.numbering, self.cut = Numbering(config["last"]), bool(config["cut"])
        self.requests = Requests(self.numbering)
        self.began_ms = self.now_ms = self.calls = self.faults = self.fail_overs = 0
        self.dying = False  # it may be under way to the log that the id is forgotten
        self.observed: frozenset[str] = frozenset()
        self.made: Made | None = None
        self.idle = frozenset({"log_append", "init", "begin", "send", "commit", "abort", "fence"})  # where False
        self.txn_id, self.ids, self.owners = config.get("txn_id", 0), config.get("ids", 1), Owners()
        self.own: tuple[Event, ...] = ()  # of the last call
        self.is_foreign = False  # the last call was about another transactional id
        self.away: set[int] = set()  # partitions without a leader
        self.forgets = False  # partitions may have forgotten producers
        self.leaders: Counter[int] = Counter()  # by partition: how often it has changed
        self.questions: dict[tuple[int, int], int] = {}  # of a transaction's record: which leader asked
        self.appended: set[int] = set()
        self.marker_calls: dict[int, int] = {}  # by number of the request: the call that sent it

    def is_composite(self) -> bool:
        assert self.made is not None
        return self.made.call.name in COMPOSITE

    def _of_request(self, number: int) -> dict[str, Any]:
        request: Request = self.requests.sent[number]
        found = {name: getattr(request, name) for name in ("client", "txn", "partition", "number", "next_base", "named",
                                                           "commit")}  # fmt: skip
        fresh = self.questions.get((request.txn, request.partition)) != self.leaders[request.partition]
        counts = self.requests.current.get(request.client) == number
        return {**found, "counts": counts, "fresh": fresh, "late": False, "request": number}

    def _require_epochs(self, state: State) -> None:
        """The model has fewer epochs for a producer id than the implementation.  Raises `Beyond`."""
        if self.cut and state["epoch"] + 2 >= state["base"] + self.numbering.last:
            raise Beyond("there is no room for so many epochs")

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """The row with everything that is a matter of choice chosen, in every way."""
        kind = seen.kind
        if kind in BEGUN.values():
            yield from self._beginnings(state, kind, row)
        elif kind in ("txn_logged", "append_failed"):
            self._require_epochs(state)
            yield from self._appends(state, kind, {**row, **guesses.whose(state)})
        elif not row["hidden"]:
            yield row
        elif kind == "timed_out":
            yield {**row, "number": state["epoch"] + int(state["ahead"])}
        elif kind == "coordinator_loaded":
            yield {**row, "term": state["term"] + 1}
        elif kind.startswith("marker_"):
            for marker in guesses.markers(state, row["partition"]):
                for error in guesses.CODES.get(kind, (0,)):
                    yield {**row, "next_base": self._next_base(marker["number"]), **marker, "error": error}
        elif kind in guesses.CODES:
            for error in guesses.CODES[kind]:
                number = state["epoch"] if kind == "init_handled" or (kind == "end_handled" and self.bumps) else 0
                own = row["number"] if kind in ("add_handled", "partition_checked") else number
                yield {**row, "error": error, "number": own}
        else:
            yield row

    def _next_base(self, number: int) -> int:
        return self.numbering.base((number - 1) // (self.numbering.last + 2) + 1)

    def _beginnings(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if row["request"] in self.requests.sent:
            yield from self._asked_by(state, row["request"], {**row, "busy": self.requests.others_wait(delivered=True)})

    def _asked_by(self, state: State, number: int, row: Row) -> Iterator[Row]:
        """A request begins; the answer to a copy may be the one that is taken, or not."""
        full = {**row, **self._of_request(number)}
        client = full["client"]
        answered = state["asking"].get((client,), False) and state["answered"].get((client,), 0)
        for late in ((False, True) if full["counts"] else (True,)) if answered else (False,):
            yield {**full, "error": 0, "late": late}

    def _causes(self, state: State, row: Row) -> Iterator[Row]:
        """A record of which nobody saw the beginning: whose request may it be?"""
        own = {name: row[name] for name in ("number", "next_base", "to")}
        kinds: tuple[str, ...] = {EMPTY: ("init",), ONGOING: ("add", "check")}.get(row["logged"], ())
        if row["logged"] in (PREPARE_COMMIT, PREPARE_ABORT):
            kinds = ("end",)
        found = [full for n in self.requests.about(*kinds) for full in self._asked_by(state, n, row)]
        if row["logged"] == PREPARE_ABORT:
            fences = (full for n in self.requests.about("init") for full in self._asked_by(state, n, row))
            found += [{**full, "by_owner": False, "of_init": True} for full in fences]
        yield from ({**full, **own} for full in found or [row])

    def _appends(self, state: State, kind: str, row: dict[str, Any]) -> Iterator[Row]:
        assert self.made is not None
        call = self.made.call
        if not row["hidden"] and self.is_composite() and state["pending"] == NOTHING:
            yield from self._causes(state, row)
        elif not row["hidden"]:
            yield row
        elif kind == "append_failed":
            if call.name == "log_append" and not call.get("ok"):
                yield from ({**row, **record} for record in guesses.logged(state, self.numbering.last, self.bumps))
        elif call.get("ok", call.get("durable", True)):
            if state["pending"] == NOTHING and (asked := self.requests.waiting()) is not None and asked[0] == "init":
                row |= self._of_request(asked[1])
            yield from ({**row, **record} for record in guesses.logged(state, self.numbering.last, self.bumps))
