"""This module translates histories and recordings to steps of the model, and finds the violations that are expected
there.

A recording of real brokers is prepared to be followed through the model for each transactional id by itself. The rows
of one log have an order, and so have the rows that the clients of one recorder observed; between them no order is
evidence. So the rows are distributed to sources, each in its order: the clients, the transaction log, and every
partition's log. A row waits for one of another source only where it names it: a record that is read lies in a log, and
one that lies there was sent. An error that a coordinator answered is a source of its own with a single, hidden row,
between the request and the answer.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from fencepost.model.language.derived.mutations import settle
from fencepost.model.transactions.detailed.expiry import Expiring
from fencepost.properties.conformance_spec import Followed
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.trace_spec import (
    Conforming,
    Excuse,
    Laid,
    LaidOut,
    Recorded,
    Recording,
    Settings,
    Source,
    Sources,
)
from fencepost.properties.transactions.events.driven import HISTORY_BY_VARIANT, HISTORY_COLUMNS, RELEASES, variant_of
from fencepost.properties.transactions.events.kinds import ABORT, BESIDE, COMMIT, TRANSACTIONS, Kind, State
from fencepost.properties.transactions.events.wire import COLUMNS, HIDDEN, NOT_THE_COORDINATORS, RECORDED
from fencepost.properties.transactions.histories.late import JOINED, MARKED, OPENED, STOLEN, UNVERIFIED
from fencepost.properties.transactions.histories.view import MAX_EPOCH, TransactionView
from fencepost.properties.transactions.interface import READERS
from fencepost.properties.transactions.translator.driven import MODELS
from fencepost.properties.transactions.translator.guessing import ALL, Numbering, Owners, stand_for
from fencepost.properties.transactions.translator.one_id import (
    COMPLETE,
    EVERY_ROW,
    NOWHERE,
    PREPARES,
    SPARE,
    WIDTH,
    Numbers,
    OneId,
    followed_ids,
)
from fencepost.properties.transactions.translator.wire import CAUSE_NOT_THERE, REMOTE_MODELS, Unseen
from fencepost.properties.translation import uncollected

Event = Mapping[str, Any]

CLIENTS = (
    "init_sent", "init_taken", "fence_told", "txn_begun", "add_sent", "add_taken", "record_sent", "record_acked",
    "end_sent", "end_told", "record_read", "record_seen", "offset_fetched",
)  # fmt: skip
WATCHED = "the clients"
LOG = ("txn_logged", "id_expired")
PARTITION = ("batch_appended", "marker_appended")
NEEDED = ("init_sent", "init_taken", "txn_begun", "record_sent", "end_sent", "end_told", *LOG[:1], *PARTITION)
NEEDED_BELOW_V2 = ("add_sent", "add_taken")
SENT = {"init_handled": "init_sent", "add_handled": "add_sent", "end_handled": "end_sent"}
WAITS_FOR = {
    "batch_appended": "sent", **dict.fromkeys(("record_acked", "record_read", "record_seen"), "there"),
}  # fmt: skip
NO_ID = -2


def followable(manifest: Manifest) -> str:
    """Return the variant of whose model these recordings may be runs. Raises `HistoryError` with the reason if there is
    none."""
    mode = str(manifest.config.get("mode", "v2"))
    if mode not in REMOTE_MODELS:
        raise HistoryError(f"no model for mode {mode!r}")
    manifest.require_whole()
    if missing := sorted({*NEEDED, *(NEEDED_BELOW_V2 if mode != "v2" else ())} - set(manifest.observable)):
        raise HistoryError(f"the histories do not show {', '.join(missing)}")
    ordered = set(CLIENTS) if manifest.ordered else set(manifest.config.get("ordered_among", ()))
    if unordered := sorted({*CLIENTS} & {*manifest.observable} - ordered):
        raise HistoryError(f"the order among clients' events is not known: of {', '.join(unordered)}")
    return mode


def recorded(columns: Mapping[str, np.ndarray], variant: str, config: Mapping[str, Any]) -> Iterator[Sources]:
    """Return the rows of one history for each transactional id in it. The whole history decides which id an event
    belongs to: an event that names nothing known belongs to the only id, or to none."""
    names = {int(kind): kind.name for kind in Kind}
    lists = {name: column.tolist() for name, column in columns.items()}
    lists |= {"kind": [names.get(kind, "") for kind in lists["kind"]], "row": list(range(len(lists["kind"])))}
    events = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    ids = sorted({event["txn_id"] for event in events} - {-1})
    owners = Owners(unknown=ids[0] if len(ids) == 1 else NO_ID)
    for event in events:
        owners.of_event(event)
    owned = [(owners.of_event(event), event) for event in events]
    for txn_id in ids:
        mine = [event for owner, event in owned if owner in (ALL, txn_id)]
        yield _Dealt(mine, variant, config, txn_id, len(ids)).sources()


class _Dealt:
    """A `_Dealt` has one transactional id's rows, distributed to their sources. ``events`` have their kind by name, and
    their ``row``."""

    def __init__(self, events: Sequence[Event], variant: str, config: Mapping[str, Any], txn_id: int, ids: int) -> None:
        self.events, self.variant, self.txn_id, self.ids = events, variant, txn_id, ids
        self.bumps = variant == "v2"
        real = int(config.get("max_epoch", MAX_EPOCH)) - 1
        self.last = min(real, max((e["epoch"] for e in events), default=0) + SPARE)
        self.numbering = Numbering(self.last)
        for e in sorted(events, key=lambda event: event["kind"] not in LOG):
            self.numbering.number(e["producer_id"], e["epoch"])
        self.clients = _dense(e["client"] for e in events if 0 <= e["client"] < READERS)
        self.txns = _dense(e["txn"] for e in events if e["txn"] >= 0)
        terms = {e["coordinator_epoch"] for e in events if e["kind"] in (*LOG, *PARTITION)}
        self.terms = _dense(sorted(terms - {-1}))
        self.sent: dict[int, Event] = {}  # by request
        self.records: dict[int, tuple[int, int]] = {}  # transaction and partition

    def sources(self) -> Sources:
        by_source: dict[str, list[Event]] = defaultdict(list)
        for e in self.events:
            if e["kind"] in CLIENTS:
                by_source[WATCHED].append(e)
            elif e["kind"] in LOG:
                by_source["the transaction log"].append(e)
            elif e["kind"] in PARTITION:
                by_source[f"partition {e['partition']}"].append(e)
        names = sorted(by_source, key=lambda name: (name == WATCHED, name))
        places = self._places(names, by_source)
        found: list[Source] = []
        for name in names:
            rows = []
            for e in by_source[name]:
                row = Recorded(e["row"], e["kind"], {**CAUSE_NOT_THERE, **self._columns(e)})
                if (place := places.get((WAITS_FOR.get(e["kind"], ""), e["record"]))) is not None:
                    row = row.waiting(*place)
                kind, asked = HIDDEN.get(e["kind"], ""), places.get(("request", e["request"]))
                if kind and asked is not None and row.columns["error"] not in (0, *NOT_THE_COORDINATORS):
                    answer = Recorded(
                        e["row"], kind, {**row.columns, **self._of_request(self.sent[e["request"]])}, True
                    )
                    found.append(Source(f"answer to request {e['request']}", (answer.waiting(*asked),)))
                    row = row.waiting(found[-1].name, 1)
                rows.append(row)
            found.append(Source(name, tuple(rows)))
        return Sources(self._followed(), tuple(found), stand_for(self.txn_id, self.clients, self.txns, self.numbering))

    def _places(
        self, names: Sequence[str], by_source: Mapping[str, Sequence[Event]]
    ) -> dict[tuple[str, int], tuple[str, int]]:
        """Return where a record is first ``sent``, or lies in a log (``there``), and where a ``request`` is first sent:
        the source, and the number of its rows up to there."""
        places: dict[tuple[str, int], tuple[str, int]] = {}
        for name in names:
            for place, e in enumerate(by_source[name], 1):
                if e["kind"] == "batch_appended":
                    places.setdefault(("there", e["record"]), (name, place))
                elif e["kind"] == "record_sent":
                    places.setdefault(("sent", e["record"]), (name, place))
                    self.records[e["record"]] = (self.txns[e["txn"]], e["partition"])
                if e["kind"] in SENT.values():
                    self.sent[e["request"]] = e
                    places.setdefault(("request", e["request"]), (name, place))
        return places

    # Rows

    def _columns(self, e: Event) -> dict[str, Any]:
        found: dict[str, Any] = {"request": e["request"], "error": max(e["error"], 0), "others": self.ids > 1}
        if e["request"] in self.sent and e["kind"] not in PARTITION:
            found |= self._of_request(self.sent[e["request"]])
        if e["record"] in self.records:
            found["txn"], found["partition"] = self.records[e["record"]]
        found |= self._names(e)
        found["number"] = self.numbering.number(e["producer_id"], e["epoch"])
        found["next_base"] = self.numbering.next_base(e["producer_id"])
        found["to"] = self.numbering.after_prepare(found["number"], self.bumps)
        if e["kind"] == "init_sent":
            found["named"] = found["number"]
        if e["kind"] == "offset_fetched":
            found["reads"] = e["record"] in self.records
        term = self.terms.get(e["coordinator_epoch"], 0)
        return found | {"commit": e["outcome"] == COMMIT, "logged": e["state"], "term": term}

    def _names(self, e: Event) -> dict[str, int]:
        known = (("client", self.clients), ("txn", self.txns))
        found = {name: numbers[e[name]] for name, numbers in known if e[name] in numbers}
        return found | ({"partition": e["partition"]} if e["partition"] >= 0 else {})

    def _of_request(self, e: Event) -> dict[str, Any]:
        number = self.numbering.number(e["producer_id"], e["epoch"])
        return {"number": number, "named": number, "commit": e["outcome"] == COMMIT, **self._names(e)}

    # The model

    def _followed(self) -> Followed:
        model = REMOTE_MODELS[self.variant]
        largest = max((self.numbering.number(e["producer_id"], e["epoch"]) for e in self.events), default=0)
        partitions = max((e["partition"] for e in self.events), default=0) + 1
        bounds = {"clients": max(1, len(self.clients)), "transactions": max(1, len(self.txns)),
                  "partitions": max(1, partitions), "epochs": largest + 3,
                  "fail_overs": len(self.terms)}  # fmt: skip
        pairs = {(self.txns[e["txn"]], e["partition"]) for e in self.events if e["kind"] == "add_sent"}
        return Followed(
            self.variant, settle(model.spec), {"last": self.last}, bounds, COLUMNS, RECORDED[self.variant], {},
            lambda: Unseen(bumps=self.bumps, added=frozenset(pairs)), errors=TRANSACTIONS.errors,
        )  # fmt: skip


def _dense(values: Iterable[int]) -> dict[int, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


# Histories of v1, and of v1 with verification, violate some properties by design: these are the steps of the model that
# allow it, and exactly which violations each of them excuses.
#
# Below v2 an epoch serves many transactions, and nothing distinguishes a request that arrives late from one of the next
# transaction. Four steps of the model take such a request (list below). They are found in the events of a lane as these
# are put in rows for the model. The caller ensures that the model follows the lane, and so takes these steps
# (`proofs/traces/predicted.py`). A violation is one of certain records or transactions; it is excused where all of them
# are, by steps that come no later than the event that reveals it.
#
# - `append`, of a record whose transaction is over at the coordinator: what becomes of this record is excused;
# - `end`, by an EndTxn of another transaction than the one that is open: what becomes of the open one is excused;
# - `add_partition`, of a transaction that is over: it opens one that no producer ends, and its owner may be fenced for
#   what is open;
# - `mark_late`, of a marker that the coordinator does not wait for: what becomes of the transactions that it closes on
#   that partition is excused.


class Steps:
    """`Steps` are the steps in one lane that excuse a violation; ``found`` has, by what they excuse, the row of the
    first of them, and which it is."""

    def __init__(self, *, verifies: bool) -> None:
        self.verifies = verifies
        self.found: dict[tuple[str, int], tuple[int, Excuse]] = {}
        self.over: set[int] = set()  # transactions that the coordinator has prepared the end of
        self.open: dict[int, set[int]] = {}  # what it has open: partitions by transaction
        self.due: tuple[int, ...] = ()  # producer id, epoch, outcome of the markers that it waits for
        self.parts: set[int] = set()  # and where to
        self.there: dict[tuple[int, int], set[int]] = {}  # by partition and producer id: transactions open there

    def note(self, row: int, excuse: Excuse, subjects: Iterable[tuple[str, int]]) -> None:
        for one in subjects:
            self.found.setdefault(one, (row, excuse))

    def add(self, row: int, txn: int, partition: int, client: int) -> None:
        if txn in self.over:
            self.note(row, OPENED, [("client", client)])
        self.open.setdefault(txn, set()).add(partition)

    def prepare(self, row: int, due: tuple[int, ...], ended_by: int) -> None:
        """Note that the end of the open transaction is in the log; ``ended_by`` is the transaction of the EndTxn, -1
        for a fence."""
        if ended_by >= 0:
            self.note(row, STOLEN, [("txn", txn) for txn in self.open if txn != ended_by])
        self.over |= self.open.keys()
        self.due, self.parts, self.open = due, set(chain(*self.open.values())), {}

    def complete(self) -> None:
        self.due, self.parts = (), set()

    def append(self, row: int, txn: int, record: int, partition: int, producer_id: int) -> None:
        joins = partition in self.parts or any(partition in parts for parts in self.open.values())
        if txn in self.over and (joins or not self.verifies):
            self.note(row, JOINED if joins else UNVERIFIED, [("record", record)])
        self.there.setdefault((partition, producer_id), set()).add(txn)

    def mark(self, row: int, partition: int, marker: tuple[int, ...]) -> None:
        closed = self.there.pop((partition, marker[0]), set())
        if marker != self.due or partition not in self.parts:
            self.note(row, MARKED, [("txn", txn) for txn in closed])


def _steps(one: OneId, verifies: bool) -> Steps:
    steps, records = Steps(verifies=verifies), one.history.records
    for at, e in enumerate(one.events):
        if e.kind == Kind.batch_appended:
            record = records.get(e.record)
            if record is not None and record.txn >= 0:
                steps.append(e.row, record.txn, e.record, e.partition, e.producer_id)
        elif e.kind == Kind.marker_appended:
            steps.mark(e.row, e.partition, (e.producer_id, e.epoch, e.outcome))
        elif e.kind != Kind.txn_logged:
            continue
        elif e.state in COMPLETE:
            steps.complete()
        elif e.state in PREPARES:
            sent, outcome = one.behind.get(at), COMMIT if e.state == State.PrepareCommit else ABORT
            ended_by = sent.txn if sent is not None and sent.kind == Kind.end_sent else -1
            steps.prepare(e.row, (e.producer_id, e.epoch, outcome), ended_by)
        elif e.state == State.Ongoing and (sent := one.behind.get(at)) is not None:
            steps.add(e.row, sent.txn, sent.partition, sent.client)
    return steps


class Violations:
    """`Violations` decides which steps of a piece excuse which violations; `view` is made of the columns of the same
    piece."""

    def __init__(self, view: TransactionView, ids: Iterable[tuple[int, OneId]], verifies: bool) -> None:
        self.view, self.c = view, view.columns
        self.steps: dict[tuple[int, str, int], tuple[int, Excuse]] = {}
        for history, one in ids:
            for (what, number), found in _steps(one, verifies).found.items():
                self.steps.setdefault((history, what, number), found)

    def excuse(self, name: str, at: int, other: int) -> Excuse | None:
        """Return the step that excuses the violation of this property in this row, which the other row explains (-1:
        none). A property for which there is no method below is never excused."""
        expected: Callable[[int, int], Excuse | None] | None = getattr(self, f"_{name}", None)
        return expected(at, other) if expected is not None else None

    def _step(self, what: str, number: int, before: int) -> Excuse | None:
        row, excuse = self.steps.get((int(self.c["history"][before]), what, number), (before, None))
        return excuse if row <= before else None

    def _of_record(self, row: int, before: int) -> Excuse | None:
        return self._step("record", int(self.c["record"][row]), before)

    def _of_fate(self, row: int, before: int) -> Excuse | None:
        """Return the excuse of a record that arrived late, or whose transaction was decided by a late message."""
        return self._of_record(row, before) or self._step("txn", self._txn(row), before)

    def _txn(self, row: int) -> int:
        sent = int(self.view.sent_at(np.array([row]))[0])
        return -1 if sent == NEVER else int(self.c["txn"][sent])

    # What is read, or lies there

    def _read(self, at: int, other: int) -> Excuse | None:
        return self._of_fate(at, at)

    _aborts_unread = _open_unread = _reads_as_decided = _group_offsets_stable = _read

    def _fenced_appends_unread(self, at: int, other: int) -> Excuse | None:
        return self._of_record(at, at)

    _none_hanging = _fenced_appends_unread

    def _commits_kept(self, at: int, other: int) -> Excuse | None:
        return self._of_fate(other, at)

    def _transactions_whole(self, at: int, other: int) -> Excuse | None:
        """Return an excuse if, for each read of a record of the transaction, that read or the missing record is
        excused."""
        reads, txn = self.view.rows_of(Kind.record_read), self.view.owner(np.array([other]))
        rows = reads[self.view.owner(reads) == txn].tolist()
        found = [self._of_record(row, row) or self._of_fate(other, row) for row in rows]
        return found[0] if found and all(found) else None

    def _offsets(self, at: int, other: int) -> Excuse | None:
        """Return what excuses the older offset that is there, or the younger one that is not."""
        older = self._of_fate(at, at) if self.c["record"][at] >= 0 else None
        return older or (self._of_fate(other, at) if other >= 0 else None)

    _group_offsets_kept = _group_offsets_forward = _offsets

    def _completed_after_markers(self, at: int, other: int) -> Excuse | None:
        return self._of_record(other, at)

    def _one_epoch_while_open(self, at: int, other: int) -> Excuse | None:
        return self._of_record(other, at)

    def _lone_client_never_fenced(self, at: int, other: int) -> Excuse | None:
        return self._step("client", int(self.c["client"][at]), at)

    # What markers decide: each transaction of which that is wrong

    def _decided(self, at: int, is_wrong: Callable[[int], bool]) -> Excuse | None:
        """Return an excuse if each batch is excused that the marker closes in a transaction for which ``is_wrong``
        holds."""
        batches, markers, owners = self.view.decisions
        here = [(batch, owner) for batch, owner in zip(batches[markers == at].tolist(), owners[markers == at].tolist(),
                                                       strict=True) if is_wrong(owner)]  # fmt: skip
        found = [self._of_fate(batch, at) or self._of_others(owner, at) for batch, owner in here]
        return found[0] if found and all(found) else None

    def _of_others(self, owner: int, at: int) -> Excuse | None:
        """Return the excuse if all records of the same transaction that were decided otherwise before arrived late."""
        (batches, markers, owners), outcome = self.view.decisions, self.c["outcome"]
        others = batches[(owners == owner) & (markers < at) & (outcome[markers] != outcome[at])]
        found = [self._of_record(one, at) for one in others.tolist()]
        return found[0] if found and all(found) else None

    def _markers_as_decided(self, at: int, other: int) -> Excuse | None:
        asked = self.view.commit_asked
        known = self.view.numbers_of("txn").size
        return self._decided(at, lambda owner: bool(owner < known and asked[owner] > at))

    def _markers_as_told(self, at: int, other: int) -> Excuse | None:
        reported = self.view.abort_reported if self.c["outcome"][at] == COMMIT else self.view.commit_reported
        return self._decided(at, lambda owner: bool(reported[owner] != NEVER))

    def _transactions_share_fate(self, at: int, other: int) -> Excuse | None:
        (_, markers, owners), outcome = self.view.decisions, self.c["outcome"]
        return self._decided(at, lambda owner: outcome[markers[owners == owner].min()] != outcome[at])


# Histories of transactions are compared with the full model: one lane for each transactional id.
#
# The model's numbers of producer ids lie as close to one another as the epochs of an id allow, and lanes of about one
# size are compared with it together. An id that cannot be followed to its end is followed as far as possible.

CLASSES = (12, 32, 128, 512)
"""`CLASSES` limits the transactions and clients of lanes that are compared with the model together."""


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """Return the settings of the model; ``last`` is the largest epoch that an owner is given, one less than `max_epoch`
    of the config."""
    return (("last", int(config.get("max_epoch", MAX_EPOCH)) - 1),)


@uncollected()
def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    groups: dict[tuple[int, int], list[Lane]] = defaultdict(list)
    undecided: dict[int, str] = {}
    for history, one in followed_ids(columns, variant, settings):
        if one.stopped:
            undecided.setdefault(history, one.stopped)
        if one.rows:
            most = max(len(one.numbers.clients), len(one.numbers.txns))
            rows = np.fromiter(one.rows, np.int64).reshape(-1, WIDTH)
            lane = Lane(rows, one.values, one.history.last_term, one.numbers)
            groups[one.last, int(np.searchsorted(CLASSES, most))].append(lane)
    bumps = variant in RELEASES.values()
    return LaidOut(tuple(_part(groups[group], group[0], columns, bumps) for group in sorted(groups)), undecided)


class Lane(NamedTuple):
    """A `Lane` has the rows of one transactional id, `EVERY_ROW` and ``values`` as it has them, and what its numbers
    stand for."""

    rows: np.ndarray
    values: Mapping[str, Mapping[int, int]]
    last_term: int
    numbers: Numbers


def _part(lanes: Sequence[Lane], last: int, columns: Mapping[str, np.ndarray], bumps: bool) -> Laid:
    values = dict(zip(EVERY_ROW, np.concatenate([lane.rows for lane in lanes]).T.copy(), strict=True))
    row, kind, number = values.pop("row"), values.pop("kind"), values["number"]
    lengths = [len(lane.rows) for lane in lanes]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    for name in set(HISTORY_COLUMNS).difference(values):
        there = [(start, lane.values[name]) for lane, start in zip(lanes, starts, strict=True) if name in lane.values]
        values[name] = np.zeros(len(row), np.int64)
        values[name][[start + place for start, its in there for place in its]] = [
            value for _, its in there for value in its.values()
        ]
    values["error"], values["logged"] = columns["error"][row], columns["state"][row]
    values["commit"] = columns["outcome"][row] == COMMIT
    ended = (number - 1) % (last + 2) == last + 1
    values["to"] = number + (ended if bumps else 0)
    largest = 3 + max(0, int(number.max()))
    values["number"] = np.where(number == NOWHERE, largest, number)  # no pair has it, nor the ones before it
    sizes = {
        "clients": int(values["client"].max()) + 1,
        "transactions": int(values["txn"].max()) + 1,
        "partitions": int(values["partition"].max()) + 1,
        "epochs": largest,
        "fail_overs": max(lane.last_term for lane in lanes),
    }
    of_row = np.repeat(np.arange(len(lanes)), lengths)
    return Laid(row, of_row, kind, values, sizes, {"last": last}, lambda lane: lanes[lane].numbers.stand_for())


def excusing(columns: Mapping[str, np.ndarray], variant: str, config: Mapping[str, Any]) -> Violations:
    """Return which violations the steps of the model excuse in whole histories."""
    ids = followed_ids(columns, variant, settings_of(variant, config))
    return Violations(TransactionView(columns, config), ids, variant == "v1-verified")


CONFORMING = Conforming(
    TRANSACTIONS, {**MODELS, RELEASES["4.3"]: Expiring}, HISTORY_COLUMNS, HISTORY_BY_VARIANT, variant_of, settings_of,
    lay_out, {"further_record": BESIDE}, excusing=excusing, recording=Recording(followable, recorded),
)  # fmt: skip
