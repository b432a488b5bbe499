"""One lane of a history, laid out: each event of it as a row of the columns that the observations read."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.properties.conforming import STRANGE
from fencepost.properties.transactions.history.events import COMMIT, Kind, State
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.histories import COLUMNS
from fencepost.properties.transactions.offline.causes import answers_taken, candidates, causes_of
from fencepost.properties.transactions.offline.lanes import Cut, Events, Lane, Request
from fencepost.properties.transactions.offline.names import Names
from fencepost.properties.transactions.offline.unfollowed import (
    CUT_OFF,
    ERASED,
    FORGOTTEN,
    UNTOLD,
    Partitions,
    Undecidable,
)

NAMES = tuple(COLUMNS)
_NOTHING: Mapping[str, Any] = dict.fromkeys(NAMES, 0) | {"client": -1, "txn": -1, "partition": -1, "logged": -1}
_STATES = frozenset(State)
_READS = frozenset({Kind.record_read, Kind.record_seen, Kind.offset_fetched})
_KEEPS_PAIR = frozenset({
    Kind.add_handled, Kind.partition_checked, Kind.add_taken, Kind.record_acked, Kind.record_read, Kind.record_seen,
})  # fmt: skip
"""What has the pair of its request."""

Row = dict[str, Any]


class Layout:
    """Lays out one lane.  ``rows``, ``kinds`` and ``values`` (in the order of NAMES) grow event by event; ``reason``:
    why the rest is left out, if it is.  ``cut_short``: ``last`` is not Kafka's last epoch, but a smaller one."""

    def __init__(self, events: Events, cut: Cut, lane: Lane, *, last: int, cut_short: bool, bumps: bool) -> None:
        self.e, self.cut, self.lane, self.bumps = events, cut, lane, bumps
        self.names = Names(last, cut_short=cut_short, loaded=cut.loaded)
        self.causes, self.given = causes_of(events, lane), answers_taken(events, cut, lane)
        self.current: dict[int, int] = {}  # by client: the InitProducerId to which it takes the answer
        self.leaders: defaultdict[int, int] = defaultdict(int)  # changes, by partition
        self.questions: dict[tuple[int, int], int] = {}  # by transaction and partition: which leader asked
        self.parts: set[int] = set()
        self.failed = False  # an append came to nothing, and nobody was told yet
        self.faults = False
        self.unknown = False  # the id is forgotten
        self.before = 0  # what InitProducerId named when it was
        self.logged = 0  # the pair that was logged last
        self.erased = False  # the same pair was logged as Empty
        self.partitions = Partitions(bumps=bumps)
        self.rows: list[int] = []
        self.kinds: list[int] = []
        self.values: list[tuple[int, ...]] = []
        self.reason = ""

    def lay_out(self) -> None:
        """All of it, or as much as can be decided; but no last record whose answer the end of the history cuts off."""
        kinds = self.e["kind"]
        for row in self.lane.rows:
            kind = kinds[row]
            if kind == Kind.leader_changed:
                self.leaders[self.e["partition"][row]] += 1
                continue
            try:
                values = self._values(row, kind)
            except Undecidable as error:
                self.reason = "" if str(error) == CUT_OFF else str(error)
                return
            self.rows.append(row)
            strange = kind == Kind.txn_logged and values["logged"] not in _STATES
            self.kinds.append(STRANGE if strange else kind)
            self.values.append(tuple(values.values()))

    def _values(self, row: int, kind: int) -> Row:
        e, values = self.e, dict(_NOTHING)
        values["error"], values["logged"] = e["error"][row], e["state"][row]
        values["term"] = self.names.term(e["coordinator_epoch"][row])
        request = self.cut.requests.get(e["request"][row])
        if request is not None:
            self._ask(values, request)
        if (record := e["record"][row]) >= 0:
            self._record(values, record)
        if (client := e["client"][row]) >= 0 and kind not in _READS:
            values["client"] = self.names.client(client)
        if (txn := e["txn"][row]) >= 0:
            values["txn"] = self.names.txn(txn)
        if (partition := e["partition"][row]) >= 0:
            values["partition"] = partition
        if (outcome := e["outcome"][row]) >= 0:
            values["commit"] = outcome == COMMIT
        if kind != Kind.append_failed:
            self._pair(values, row, kind)
        prepare = _PREPARING.get(kind)
        if prepare is not None:
            prepare(self, row, values)
        self.names.require_room(values["partition"])
        return values

    # What the event itself says, and the request that it is about

    def _pair(self, values: Row, row: int, kind: int) -> None:
        producer_id = self.e["producer_id"][row]
        if producer_id >= 0:
            number = self.names.number(producer_id, self.e["epoch"][row])
            values["number"], values["next_base"] = number, self.names.numbering.next_base(producer_id)
            values["to"] = self.names.numbering.after_prepare(number, self.bumps)
        elif kind not in _KEEPS_PAIR:
            values["number"] = 0

    def _ask(self, values: Row, request: Request) -> None:
        """What is in a request."""
        client, txn, partition = request.client, request.txn, request.partition
        if client >= 0:
            values["client"] = self.names.client(client)
        if txn >= 0:
            values["txn"] = self.names.txn(txn)
        values["partition"], values["commit"] = partition, request.commits
        number = values["number"] = self.names.number(request.producer_id, request.epoch)
        values["next_base"] = self.names.numbering.next_base(request.producer_id)
        if request.kind == Kind.init_sent:
            values["named"] = number
            values["counts"] = self.cut.requests.get(self.current.get(client, -1)) is request
        elif request.kind == Kind.record_sent:
            values["fresh"] = self.questions.get((txn, partition)) != self.leaders[partition]

    def _record(self, values: Row, record: int) -> None:
        txn, partition = self.cut.records.get(record, (-1, -1))
        if txn in self.names.txns:
            values["txn"], values["partition"], values["reads"] = self.names.txns[txn], partition, True
        elif txn < 0:
            values["reads"] = True  # nobody's

    # What kinds of event need besides

    def init_sent(self, row: int, values: Row) -> None:
        self.current[self.e["client"][row]] = self.e["request"][row]

    def init_taken(self, row: int, values: Row) -> None:
        self.current.pop(self.e["client"][row], None)

    def init_handled(self, row: int, values: Row) -> None:
        if values["error"] == codes.FENCED and values["named"] == self.before != 0:
            raise Undecidable(FORGOTTEN)
        self.handled(row, values)

    def end_handled(self, row: int, values: Row) -> None:
        if self.erased and values["error"] in (codes.INVALID_STATE, codes.FENCED):
            raise Undecidable(ERASED)
        self.handled(row, values)

    def handled(self, row: int, values: Row) -> None:
        end = self.causes.ends[row]
        values["busy"], values["late"] = self._under_way(row, end), self._is_late(row)
        if values["error"] == codes.NOT_AVAILABLE:
            values["away"], self.failed = self.failed, False
        else:
            values["away"] = end < 0 or self.e["kind"][end] == Kind.coordinator_loaded

    def batch_refused(self, row: int, values: Row) -> None:
        values["away"] = self.faults or self._under_way(row, self.causes.ends[row])

    def check_asked(self, row: int, values: Row) -> None:
        request = self.cut.requests.get(self.e["request"][row])
        if request is not None:
            self.questions[request.txn, request.partition] = self.leaders[request.partition]
            self.partitions.ask(values)

    def txn_logged(self, row: int, values: Row) -> None:
        state, pair = self.e["state"][row], values["number"]
        self.erased, self.logged = state == State.Empty and pair == self.logged, pair
        if state in (State.CompleteCommit, State.CompleteAbort):
            self.parts.clear()
            return
        self._caused(row, values, self._untold(row) if row not in self.causes.answers else None)
        if state == State.Empty:
            self.before, self.unknown = values["named"] if self.unknown else 0, False
        if state == State.Ongoing:
            self.parts.add(values["partition"])
            self.partitions.add(values)

    def id_expired(self, row: int, values: Row) -> None:
        self.unknown = True

    def append_failed(self, row: int, values: Row) -> None:
        self.failed = self.faults = True
        self._caused(row, values, None)

    def coordinator_loaded(self, row: int, values: Row) -> None:
        self.faults = True
        self.names.require_fail_over()

    def batch_appended(self, row: int, values: Row) -> None:
        self.partitions.append(values, self.e["record"][row] if self.e["sequence"][row] >= 0 else -1)

    def marker_appended(self, row: int, values: Row) -> None:
        self.partitions.mark(values)

    def offset_fetched(self, row: int, values: Row) -> None:
        values["others"] = row in self.lane.others

    # Whose request is behind a record of the log, and what may be under way

    def _caused(self, row: int, values: Row, request: Request | None) -> None:
        told = self.causes.answers.get(row, -1)
        if told >= 0:
            request = self.cut.requests.get(self.e["request"][told])
        if request is None:
            return
        own = {name: values[name] for name in ("number", "next_base", "to")}
        self._ask(values, request)
        if self.e["kind"][row] == Kind.txn_logged:
            values |= own
        values["by_owner"], values["of_init"] = request.kind == Kind.end_sent, request.kind == Kind.init_sent
        values["late"] = told >= 0 and self._is_late(told)

    def _untold(self, row: int) -> Request | None:
        """Whose request is behind a record that nobody was told of.  Raises `Undecidable`."""
        if row == self.lane.rows[-1]:
            raise Undecidable(CUT_OFF)
        found = candidates(self.cut, self.e, row, self.bumps)
        if self.e["state"][row] != State.Ongoing:
            return found[-1] if found else None
        places = {(r.txn, r.partition): r for r in found if r.partition not in self.parts}
        if self.bumps:  # a leader has asked
            places = {place: r for place, r in places.items() if place in self.questions}
        if len(places) > 1:
            raise Undecidable(UNTOLD)
        return next(iter(places.values()), None)

    def _under_way(self, row: int, end: int) -> bool:
        """May a record be on its way to the log?  One that ends later, and was asked for before."""
        if end < 0 or self.e["kind"][end] not in (Kind.txn_logged, Kind.append_failed):
            return True
        told = self.causes.answers.get(end, -1)
        request = self.cut.requests.get(self.e["request"][told]) if told >= 0 else None
        return request is None or request.row < row

    def _is_late(self, row: int) -> bool:
        """Nobody takes this answer to an InitProducerId: its client has asked again, or another copy of the request is
        answered too, and that answer is taken."""
        number = self.e["request"][row]
        request, given = self.cut.requests.get(number), self.given.get(number)
        if request is not None and request.kind == Kind.init_sent and self.current.get(request.client) != number:
            return True
        return given is not None and given != row


_PREPARING: Mapping[int, Callable[[Layout, int, Row], None]] = {
    Kind.init_sent: Layout.init_sent,
    Kind.init_taken: Layout.init_taken,
    Kind.fence_told: Layout.init_taken,
    Kind.init_handled: Layout.init_handled,
    Kind.add_handled: Layout.handled,
    Kind.end_handled: Layout.end_handled,
    Kind.partition_checked: Layout.handled,
    Kind.batch_refused: Layout.batch_refused,
    Kind.check_asked: Layout.check_asked,
    Kind.txn_logged: Layout.txn_logged,
    Kind.append_failed: Layout.append_failed,
    Kind.id_expired: Layout.id_expired,
    Kind.coordinator_loaded: Layout.coordinator_loaded,
    Kind.batch_appended: Layout.batch_appended,
    Kind.marker_appended: Layout.marker_appended,
    Kind.offset_fetched: Layout.offset_fetched,
}
