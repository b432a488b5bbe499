"""Recordings of real brokers, made ready to be followed through the model: one for each transactional id.

What is in one log has an order, and so has what the clients of one recorder saw; between them there is none that is
evidence.  So the rows are dealt to sources, each in its order: the clients, the transaction log, and every partition's
log.  A row waits for one of another source only where it names it: a record that is read lies in a log, and one that
lies there was sent.  What a coordinator answered with an error is a source of its own with a single, hidden row,
between the request and the answer.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from fencepost.model.language.derived.mutations import settle
from fencepost.properties.agreement import Followed
from fencepost.properties.conforming import Recorded, Source, Sources
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.transactions.history.events import COMMIT, Kind
from fencepost.properties.transactions.observations.recorded import BY_VARIANT, COLUMNS, HIDDEN, NOT_THE_COORDINATORS
from fencepost.properties.transactions.observations.recorded_causes import NOT_THERE, Unseen
from fencepost.properties.transactions.offline.names import SPARE
from fencepost.properties.transactions.online.followed_remote import REMOTE_MODELS
from fencepost.properties.transactions.online.numbering import Numbering

Event = Mapping[str, int]

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
OF_RECORD = ("record_acked", "record_read", "record_seen")
READERS = 1000
EPOCH_MAX = 32767


def followable(manifest: Manifest) -> str:
    """The variant of whose model these recordings may be runs.  Raises `HistoryError`: why that can't be told."""
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
    """The rows of one history, for each transactional id in it."""
    kinds = {int(kind): kind.name for kind in Kind}
    lists = {name: column.tolist() for name, column in columns.items()}
    rows = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    events = [(i, kinds.get(row["kind"], ""), row) for i, row in enumerate(rows)]
    owners = _owners(events)
    ids = sorted({owner for owner in owners if owner >= 0})
    for txn_id in ids:
        everywhere = len(ids) == 1
        mine = [e for e, owner in zip(events, owners, strict=True) if owner == txn_id or (owner < 0 and everywhere)]
        mine += [e for e in events if e[1] == "offset_fetched" and e not in mine]
        yield _Dealt(sorted(mine, key=lambda e: e[0]), variant, config, txn_id, len(ids)).sources()


def _owners(events: Sequence[tuple[int, str, Event]]) -> list[int]:
    """The transactional id of each row, by what the whole history says of its names; -1 where nothing does."""
    names = ("txn", "record", "request", "producer_id", "client")
    known: dict[tuple[str, int], int] = {}
    for _, _, row in events:
        if row["txn_id"] >= 0:
            for name in names:
                if row[name] >= 0:
                    known.setdefault((name, row[name]), row["txn_id"])
    found = []
    for _, kind, row in events:
        owner = row["txn_id"]
        for name in names:
            if owner < 0 and row[name] >= 0 and not (name == "client" and row[name] >= READERS):
                owner = known.get((name, row[name]), -1)
        found.append(-1 if kind == "offset_fetched" else owner)
    return found


class _Dealt:
    """One transactional id's rows, dealt to their sources."""

    def __init__(
        self, events: Sequence[tuple[int, str, Event]], variant: str, config: Mapping[str, Any], txn_id: int, ids: int
    ) -> None:
        self.events, self.variant, self.txn_id, self.ids = events, variant, txn_id, ids
        self.bumps = variant == "v2"
        real = int(config.get("max_epoch", EPOCH_MAX)) - 1
        self.last = min(real, max((e["epoch"] for _, _, e in events), default=0) + SPARE)
        self.numbering = Numbering(self.last)
        for _, _, e in sorted(events, key=lambda event: event[1] not in LOG):
            self.numbering.number(e["producer_id"], e["epoch"])
        self.clients = _dense(e["client"] for _, _, e in events if 0 <= e["client"] < READERS)
        self.txns = _dense(e["txn"] for _, _, e in events if e["txn"] >= 0)
        terms = {e["coordinator_epoch"] for _, kind, e in events if kind in (*LOG, *PARTITION)}
        self.terms = _dense(sorted(terms - {-1}))
        self.sent: dict[int, Event] = {}  # by request
        self.sent_at: dict[int, int] = {}  # by request: its place among the clients' rows
        self.records: dict[int, tuple[int, int]] = {}  # transaction and partition

    def sources(self) -> Sources:
        """What is to be merged, and the model that it is to be a run of."""
        by_source: dict[str, list[tuple[int, str, Event]]] = defaultdict(list)
        for event in self.events:
            _, kind, e = event
            if kind in CLIENTS:
                by_source[WATCHED].append(event)
            elif kind in LOG:
                by_source["the transaction log"].append(event)
            elif kind in PARTITION:
                by_source[f"partition {e['partition']}"].append(event)
        names = sorted(by_source, key=lambda name: (name == WATCHED, name))
        placed, first_sent = self._places(names, by_source)
        found = []
        for name in names:
            rows = [self._recorded(*event) for event in by_source[name]]
            for place, (_, kind, e) in enumerate(by_source[name]):
                if kind in OF_RECORD and e["record"] in placed:
                    rows[place] = rows[place].waiting(*placed[e["record"]])
                elif kind == "batch_appended" and e["record"] in first_sent:
                    rows[place] = rows[place].waiting(WATCHED, first_sent[e["record"]])
            found.append(Source(name, tuple(rows)))
        return Sources(self._followed(), tuple(self._with_answers(found)), self._told())

    def _places(
        self, names: Sequence[str], by_source: Mapping[str, Sequence[tuple[int, str, Event]]]
    ) -> tuple[dict[int, tuple[str, int]], dict[int, int]]:
        """By record: where it lies in a log, and where it was sent first."""
        placed: dict[int, tuple[str, int]] = {}
        sent: dict[int, int] = {}
        for name in names:
            for place, (_, kind, e) in enumerate(by_source[name]):
                if kind == "batch_appended":
                    placed.setdefault(e["record"], (name, place + 1))
                elif kind == "record_sent":
                    sent.setdefault(e["record"], place + 1)
                    self.records[e["record"]] = (self.txns[e["txn"]], e["partition"])
                if kind in SENT.values():
                    self.sent[e["request"]] = e
                    self.sent_at.setdefault(e["request"], place + 1)
        return placed, sent

    def _with_answers(self, sources: Sequence[Source]) -> Iterator[Source]:
        """With what the coordinator did where a client was told an error."""
        clients = next((source for source in sources if source.name == WATCHED), None)
        yield from (source for source in sources if source is not clients)
        if clients is None:
            return
        rows, hidden = list(clients.rows), []
        for place, row in enumerate(rows):
            kind, error, request = HIDDEN.get(row.kind, ""), row.columns["error"], row.columns["request"]
            if kind and error and error not in NOT_THE_COORDINATORS and request in self.sent_at:
                name = f"answer to request {request}"
                answer = Recorded(row.row, kind, {**row.columns, **self._of_request(self.sent[request])}, True)
                hidden.append(Source(name, (answer.waiting(WATCHED, self.sent_at[request]),)))
                rows[place] = row.waiting(name, 1)
        yield from hidden
        yield Source(WATCHED, tuple(rows))

    # Rows

    def _recorded(self, row: int, kind: str, e: Event) -> Recorded:
        return Recorded(row, kind, {**NOT_THERE, **self._columns(kind, e)})

    def _columns(self, kind: str, e: Event) -> dict[str, Any]:
        found: dict[str, Any] = {"request": e["request"], "error": max(e["error"], 0), "others": self.ids > 1}
        if e["request"] in self.sent and kind not in PARTITION:
            found |= self._of_request(self.sent[e["request"]])
        if e["record"] in self.records:
            found["txn"], found["partition"] = self.records[e["record"]]
        if kind == "offset_fetched":
            found["reads"] = e["record"] in self.records
        if 0 <= e["client"] < READERS:
            found["client"] = self.clients[e["client"]]
        if e["txn"] >= 0:
            found["txn"] = self.txns[e["txn"]]
        if e["partition"] >= 0:
            found["partition"] = e["partition"]
        found["number"] = self.numbering.number(e["producer_id"], e["epoch"])
        found["next_base"] = self.numbering.next_base(e["producer_id"])
        found["to"] = self.numbering.after_prepare(found["number"], self.bumps)
        if kind == "init_sent":
            found["named"] = found["number"]
        found |= {"commit": e["outcome"] == COMMIT, "logged": e["state"], "term": self._term(e)}
        return found

    def _of_request(self, e: Event) -> dict[str, Any]:
        number = self.numbering.number(e["producer_id"], e["epoch"])
        found = {"number": number, "named": number, "commit": e["outcome"] == COMMIT}
        for name, known in (("client", self.clients), ("txn", self.txns)):
            if e[name] in known:
                found[name] = known[e[name]]
        return found | ({"partition": e["partition"]} if e["partition"] >= 0 else {})

    def _term(self, e: Event) -> int:
        return self.terms.get(e["coordinator_epoch"], 0)

    # The model

    def _followed(self) -> Followed:
        model = REMOTE_MODELS[self.variant]
        largest = max((self.numbering.number(e["producer_id"], e["epoch"]) for _, _, e in self.events), default=0)
        partitions = max((e["partition"] for _, _, e in self.events), default=0) + 1
        bounds = {"clients": max(1, len(self.clients)), "transactions": max(1, len(self.txns)),
                  "partitions": max(1, partitions), "epochs": largest + 3,
                  "fail_overs": len(self.terms)}  # fmt: skip
        pairs = {(self.txns[e["txn"]], e["partition"]) for _, kind, e in self.events if kind == "add_sent"}
        return Followed(
            self.variant, settle(model.spec), {"last": self.last}, bounds, COLUMNS, BY_VARIANT[self.variant], {},
            lambda: Unseen(bumps=self.bumps, added=frozenset(pairs)),
        )  # fmt: skip

    def _told(self) -> str:
        """What the model's numbers stand for."""
        found = [f"client {number} is {name}" for name, number in self.clients.items() if number != name]
        found += [f"transaction {number} is {name}" for name, number in self.txns.items() if number != name]
        for producer_id, rank in sorted(self.numbering.ranks.items(), key=lambda pair: pair[1]):
            base = self.numbering.base(rank)
            found.append(f"numbers {base} to {base + self.last + 1} are epochs of producer id {producer_id}")
        return f"in the model of transactional id {self.txn_id}: {'; '.join(found)}"


def _dense(values: Any) -> dict[int, int]:
    """Numbers from 0, in order of appearance."""
    return {value: number for number, value in enumerate(dict.fromkeys(values))}
