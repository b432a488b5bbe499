"""The lanes of a piece, laid out: the columns that the observations read, all events at once.

What an event says is found in three places: in the request that it is about, in itself, and, of a record of the
transaction log, in the request that is behind it.  The later one counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.model.language.tree.types import BoolType, scalar
from fencepost.properties.by_key import Cut
from fencepost.properties.column_ops import Lanes, Names, Said, Stops, before, dense, one_of, ordinals, sums_before
from fencepost.properties.trace_spec import STRANGE
from fencepost.properties.transactions.events import kinds as codes
from fencepost.properties.transactions.events.driven import HISTORY_COLUMNS
from fencepost.properties.transactions.events.kinds import (
    COMMIT,
    ERASED,
    FORGOTTEN,
    MOST,
    SENT,
    TAKEN,
    TOO_LARGE,
    TOO_MANY,
    UNTOLD,
    Kind,
    State,
)
from fencepost.properties.transactions.translator.columns import (
    HANDLED,
    SPARE,
    Causes,
    Numbers,
    Sought,
    terms,
    unfollowed,
)

_COMPLETE = (State.CompleteCommit, State.CompleteAbort)
_PREPARES = (State.PrepareCommit, State.PrepareAbort)
_READS = (Kind.record_read, Kind.record_seen, Kind.offset_fetched)
_KEEPS_PAIR = (
    Kind.add_handled, Kind.partition_checked, Kind.add_taken, Kind.record_acked, Kind.record_read, Kind.record_seen,
)  # fmt: skip
"""What has the pair of its request."""


@dataclass(frozen=True)
class Asked:
    """What is in the requests that some events are about.  ``at``: the events; ``sent``: the rows of the requests."""

    at: np.ndarray
    sent: np.ndarray


class Layout:
    """Lays out all lanes of a piece.  ``last``: the model's last epoch, by lane; ``real``: Kafka's.

    ``values`` are whole columns, of which only the events that are ``kept`` count: the others say nothing, or come
    after what stops their lane (``stops``)."""

    def __init__(self, cut: Cut, last: np.ndarray, real: int, *, bumps: bool, verifies: bool = False) -> None:
        self.cut, self.last, self.bumps, self.verifies, self.short = cut, last, bumps, verifies, last < real
        self.lanes = Lanes(cut.lane)
        self.lane, self.row = cut.lane, cut.row
        self.kind = cut.e["kind"][cut.row]
        self.kinds = self.kind.copy()
        self._by_kind = np.argsort(self.kind.astype(np.int16), kind="stable")
        ends = np.searchsorted(self.kind[self._by_kind], [(kind, kind + 1) for kind in Kind])
        self._of_kind = dict(zip(Kind, ends.tolist(), strict=True))
        self.causes = Causes(cut, self.lanes)
        self.stops = Stops(cut.lane)
        self.sent, self.recorded = cut.last("request", *SENT)[cut.row], cut.last("record", Kind.record_sent)[cut.row]
        request = self.sent
        about = np.flatnonzero((request >= 0) & (self.kind != Kind.leader_changed))
        self.asked = (Asked(about, request[about]), self._behind())
        self.values = {
            name: np.zeros(self.lanes.count, bool if isinstance(scalar(kind), BoolType) else np.int64)
            for name, kind in HISTORY_COLUMNS.items()
        }
        self._names()
        self._say()
        self._stop()

    def e(self, name: str, at: Any = slice(None)) -> np.ndarray:
        """A column of the events, or of some of them."""
        found: np.ndarray = self.cut.e[name][self.row[at]]
        return found

    def at(self, *kinds: Kind) -> np.ndarray:
        """The events of these kinds."""
        return np.sort(np.concatenate([self._by_kind[slice(*self._of_kind[kind])] for kind in kinds]))

    # Whose request is behind a record of the transaction log

    @cached_property
    def records(self) -> np.ndarray:
        """Records of the transaction log of which a request may be the cause, and appends that failed."""
        found = self.at(Kind.txn_logged, Kind.append_failed)
        completed = np.isin(self.e("state", found), _COMPLETE) & (self.kind[found] == Kind.txn_logged)
        open_ones: np.ndarray = found[~completed]
        return open_ones

    def _behind(self) -> Asked:
        told = self.causes.answers[self.records]
        sent = np.where(told >= 0, self.sent[told], -1)
        untold = np.flatnonzero((told < 0) & (self.kind[self.records] == Kind.txn_logged))
        for place, found in self._untold(untold, sent):
            sent[place] = found
        there = sent >= 0
        return Asked(self.records[there], sent[there])

    def _untold(self, untold: np.ndarray, sent: np.ndarray) -> Iterator[tuple[int, int]]:
        """Of records that no answer tells of: their place among ``records``, and the row of the request, if it is
        found.  ``sent`` is filled in meanwhile."""
        sought, e = Sought(self.cut, bumps=self.bumps), self.cut.e
        for place in untold.tolist():
            at = int(self.records[place])
            row = int(self.row[at])
            if at == self.lanes.end[at] - 1:
                self.stops.add([at], 2, "")
                continue
            found = sought.before(row)
            if e["state"][row] != State.Ongoing:
                if found:
                    yield place, found[-1]
                continue
            parts = self._parts(place, sent)
            places = {(int(e["txn"][r]), int(e["partition"][r])): r for r in found if e["partition"][r] not in parts}
            if self.bumps:  # a leader has asked
                questions = self._questions(at)
                places = {where: r for where, r in places.items() if where in questions}
            if len(places) > 1:
                places = self._shown_later(place, sent, places)
            if len(places) > 1:
                self.stops.add([at], 2, UNTOLD)
            elif places:
                yield place, next(iter(places.values()))

    def _shown_later(
        self, place: int, sent: np.ndarray, places: dict[tuple[int, int], int]
    ) -> dict[tuple[int, int], int]:
        """Those of the partitions that may be the one added here which get a marker when the transaction ends, and are
        not added by a record of their own before that."""
        at = int(self.records[place])
        end = int(self.lanes.end[at])
        prepared = (
            at
            + 1
            + np.flatnonzero(
                (self.kind[at + 1 : end] == Kind.txn_logged) & np.isin(self.e("state", slice(at + 1, end)), _PREPARES)
            )
        )
        if not len(prepared):
            return places
        between = np.flatnonzero((self.records > at) & (self.records < prepared[0]) & (sent >= 0))
        added = set(self.cut.e["partition"][sent[between]].tolist())
        until = int(prepared[1]) if len(prepared) > 1 else end
        after = slice(int(prepared[0]), until)
        marked = set(self.e("partition", after)[self.kind[after] == Kind.marker_appended].tolist())
        left = {where: row for where, row in places.items() if where[1] in marked - added} or places
        if len({partition for _, partition in left}) == 1:  # of several transactions: nothing depends on which it was
            where = max(left, key=left.__getitem__)
            left = {where: left[where]}
        return left

    def _parts(self, place: int, sent: np.ndarray) -> set[int]:
        """Partitions that were added to the transaction by now."""
        parts = set[int]()
        lane, complete = self.lane[self.records[place]], self._completed(int(self.records[place]))
        for earlier in range(place - 1, -1, -1):
            at = int(self.records[earlier])
            if self.lane[at] != lane or at < complete:
                break
            if self.kind[at] == Kind.txn_logged and self.e("state", at) == State.Ongoing:
                row = sent[earlier] if sent[earlier] >= 0 else self.row[at]
                parts.add(int(self.cut.e["partition"][row]))
        return parts

    def _completed(self, at: int) -> int:
        """The last event before that completes a transaction."""
        begin = int(self.lanes.start[at])
        done = (self.kind[begin:at] == Kind.txn_logged) & np.isin(self.e("state", slice(begin, at)), _COMPLETE)
        return begin + int(np.flatnonzero(done)[-1]) if done.any() else begin

    def _questions(self, at: int) -> set[tuple[int, int]]:
        """Transactions and partitions of which a leader has asked by now."""
        begin, e = int(self.lanes.start[at]), self.cut.e
        rows = self.sent[begin:at][self.kind[begin:at] == Kind.check_asked]
        return {(int(e["txn"][r]), int(e["partition"][r])) for r in rows[rows >= 0]}

    # Names

    def _names(self) -> None:
        e, (about, behind) = self.cut.e, self.asked
        says = self.says = np.flatnonzero(self.kind != Kind.leader_changed)
        own_client = np.where(one_of(self.kind[says], _READS), -1, self.e("client", says))

        def said(name: str, own: np.ndarray) -> tuple[Said, Said, Said]:
            return (
                Said(about.at, 0, e[name][about.sent]),
                Said(says, 1, own),
                Said(behind.at, 2, e[name][behind.sent]),
            )

        record = self.recorded
        record_txn = np.where(record >= 0, e["txn"][record], -1)
        self.clients = Names(self.lane, said("client", own_client))
        self.txns = Names(self.lane, said("txn", self.e("txn", says)), Said(np.arange(self.lanes.count), 0, record_txn))
        paired = np.where(self.kind[says] == Kind.append_failed, -1, self.e("producer_id", says))
        epochs = (e["epoch"][about.sent], np.where(paired < 0, -1, self.e("epoch", says)), e["epoch"][behind.sent])
        self.pairs = Numbers(self.lane, said("producer_id", paired), epochs, self.last)
        pairs, lanes = self.pairs, self.lane[self.pairs.at]
        for at in pairs.at[self.short[lanes] & (pairs.epochs + SPARE > self.last[lanes])].tolist():
            self.stops.add([at], 0, TOO_LARGE.format(self.last[self.lane[at]] - SPARE))

    # What the events say

    def _say(self) -> None:
        v, says, (about, behind) = self.values, self.says, self.asked
        v["error"], v["logged"] = self.e("error"), self.e("state")
        of_row, self.last_terms = terms(self.cut)
        v["term"] = of_row[self.row]
        for name in ("client", "txn", "partition"):
            v[name][:] = -1
        self._say_asked(about, 0)
        self._say_record()
        for name, values in (
            ("client", self.clients[1]), ("txn", self.txns[1]), ("partition", self.e("partition", says)),
        ):  # fmt: skip
            v[name][says[values >= 0]] = values[values >= 0]
        outcome = self.e("outcome", says)
        v["commit"][says[outcome >= 0]] = outcome[outcome >= 0] == COMMIT
        self._say_pairs()
        self._say_handled()
        own = {name: v[name][behind.at] for name in ("number", "next_base")}
        self._say_asked(behind, 2)
        logged = self.kind[behind.at] == Kind.txn_logged
        for name, values in own.items():
            v[name][behind.at[logged]] = values[logged]
        kinds = self.cut.e["kind"][behind.sent]
        v["by_owner"][behind.at] = kinds == Kind.end_sent
        v["of_init"][behind.at] = kinds == Kind.init_sent
        told = self.causes.answers[behind.at]
        v["late"][behind.at] = np.where(told >= 0, self._is_late(told, behind.at), self._is_a_copy(behind))
        fetched = self.at(Kind.offset_fetched)
        v["others"][fetched] = _others(self.cut, fetched)

    def _say_asked(self, asked: Asked, place: int) -> None:
        """What is in a request."""
        v, e, at, sent = self.values, self.cut.e, asked.at, asked.sent
        for name, values in (("client", self.clients[place]), ("txn", self.txns[place])):
            v[name][at[values >= 0]] = values[values >= 0]
        v["partition"][at], v["commit"][at] = e["partition"][sent], e["outcome"][sent] == COMMIT
        numbers = self.pairs.numbers[place]
        v["number"][at], v["next_base"][at] = numbers, self.pairs.next_bases[place]
        init = e["kind"][sent] == Kind.init_sent
        v["named"][at[init]] = numbers[init]
        client, number = e["client"][sent[init]], e["request"][sent[init]]
        v["counts"][at[init]] = self._waits(client, number, at[init])
        record = np.flatnonzero(e["kind"][sent] == Kind.record_sent)
        v["fresh"][at[record]] = self._fresh(e["txn"][sent[record]], e["partition"][sent[record]], at[record])

    def _waits(self, client: np.ndarray, number: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Does the client still take the answer to the InitProducerId of this number?"""
        events = self.at(Kind.init_sent, *TAKEN)
        code, _ = dense(np.append(self.lane[events], self.lane[at]), np.append(self.e("client", events), client))
        found = before(code[: len(events)], events, code[len(events) :], at)
        latest = events[found] if len(events) else found
        asks = (found >= 0) & (self.kind[latest] == Kind.init_sent)
        waits: np.ndarray = asks & (self.e("request", latest) == number)
        return waits

    def _leaders(self, partition: np.ndarray, at: np.ndarray) -> np.ndarray:
        """How often the leader of the partition has changed by then."""
        changes = self.at(Kind.leader_changed)
        code, _ = dense(
            np.append(self.lane[changes], self.lane[at]), np.append(self.e("partition", changes), partition)
        )
        found = before(code[: len(changes)], changes, code[len(changes) :], at)
        count: np.ndarray = np.append(ordinals(code[: len(changes)]) + 1, 0)[found]
        return count

    def _fresh(self, txn: np.ndarray, partition: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Has the leader of the partition not asked about this transaction yet, or forgotten?"""
        asked = self.at(Kind.check_asked)
        sent = self.sent[asked]
        asked, sent = asked[sent >= 0], sent[sent >= 0]
        e = self.cut.e
        code, _ = dense(
            np.append(self.lane[asked], self.lane[at]),
            np.append(e["txn"][sent], txn),
            np.append(e["partition"][sent], partition),
        )
        found = before(code[: len(asked)], asked, code[len(asked) :], at)
        then = np.append(self._leaders(e["partition"][sent], asked), -1)
        fresh: np.ndarray = then[found] != self._leaders(partition, at)
        return fresh

    def _say_record(self) -> None:
        """Of which transaction and partition a record is, where an event names one."""
        v, record = self.values, self.recorded
        names = (self.e("record") >= 0) & (self.kind != Kind.leader_changed)
        known = np.flatnonzero(names & (self.txns.known >= 0))
        v["txn"][known] = self.txns.known[known]
        v["partition"][known] = self.cut.e["partition"][record[known]]
        nobody = (record < 0) | (self.cut.e["txn"][record] < 0)
        v["reads"][:] = names & ((self.txns.known >= 0) | nobody)

    def _say_pairs(self) -> None:
        v, at = self.values, self.says
        paired = self.kind[at] != Kind.append_failed
        has = paired & (self.e("producer_id", at) >= 0)
        numbers = self.pairs.numbers[1][has]
        v["number"][at[has]], v["next_base"][at[has]] = numbers, self.pairs.next_bases[1][has]
        ended = (numbers - 1) % (self.last[self.lane[at[has]]] + 2) == self.last[self.lane[at[has]]] + 1
        v["to"][at[has]] = numbers + (ended if self.bumps else 0)
        v["number"][at[paired & ~has & ~one_of(self.kind[at], _KEEPS_PAIR)]] = 0

    # What may be under way

    def _under_way(self, at: np.ndarray) -> np.ndarray:
        """May a record be on its way to the log?  One that ends later, and was asked for before."""
        end = self.causes.ends[at]
        ends_in_log = (end >= 0) & one_of(self.kind[end], (Kind.txn_logged, Kind.append_failed))
        told = np.where(ends_in_log, self.causes.answers[end], -1)
        request = np.where(told >= 0, self.sent[told], -1)
        found: np.ndarray = ~ends_in_log | (request < self.row[at])
        return found

    def _is_late(self, answer: np.ndarray, at: np.ndarray) -> np.ndarray:
        """No client takes this answer to an InitProducerId: its own has asked again, or another copy of the request is
        answered too, and that answer is taken."""
        e, number, given = self.cut.e, self.e("request", answer), self.causes.given[answer]
        sent = self.sent[answer]
        init = (sent >= 0) & (e["kind"][sent] == Kind.init_sent)
        late: np.ndarray = (given >= 0) & (given != answer)
        late[init] |= ~self._waits(e["client"][sent[init]], number[init], at[init])
        return late

    def _is_a_copy(self, behind: Asked) -> np.ndarray:
        """A record to which no answer belongs is of a further copy of an InitProducerId, if the client of that takes an
        answer that left before: a coordinator resigned when the record was there, and the earlier answer still
        counts."""
        init = self.at(Kind.init_sent)
        event = np.full(len(self.cut.history), -1)
        event[self.row[init]] = init
        asked = event[behind.sent]
        found: np.ndarray = (asked >= 0) & (self.causes.given[asked] >= 0) & (self.causes.given[asked] < behind.at)
        return found

    def _say_handled(self) -> None:
        v, error = self.values, self.values["error"]
        handled = self.at(*HANDLED)
        v["busy"][handled], v["late"][handled] = self._under_way(handled), self._is_late(handled, handled)
        end = self.causes.ends[handled]
        away = (end < 0) | (self.kind[end] == Kind.coordinator_loaded)
        failures = self.kind == Kind.append_failed
        tells = np.zeros(self.lanes.count, bool)
        tells[handled] = error[handled] == codes.NOT_AVAILABLE
        latest = self.lanes.last(failures | tells)[handled]
        failed = (latest >= 0) & failures[latest]
        v["away"][handled] = np.where(error[handled] == codes.NOT_AVAILABLE, failed, away)
        refused = self.at(Kind.batch_refused)
        faults = self.lanes.last(failures | (self.kind == Kind.coordinator_loaded))[refused] >= 0
        v["away"][refused] = faults | self._under_way(refused)

    # What stops a lane

    def _stop(self) -> None:
        self._stop_forgotten()
        unfollowed(self)
        loaded = self.at(Kind.coordinator_loaded)
        beyond = loaded[ordinals(self.lane[loaded]) >= MOST["fail_overs"]]
        self.stops.add(beyond, 2, TOO_MANY.format("fail-overs", MOST["fail_overs"]))
        most = {
            "clients": self.clients.first_beyond(MOST["clients"]),
            "transactions": self.txns.first_beyond(MOST["transactions"]),
            "partitions": np.flatnonzero(self.values["partition"] >= MOST["partitions"]),
            "pairs": self.pairs.at[self.pairs.all > MOST["pairs"]],
        }
        for order, (name, events) in enumerate(most.items()):
            self.stops.add(events, 5 + order, TOO_MANY.format(name, MOST[name]))
        self.kept = (self.kind != Kind.leader_changed) & (self.lanes.places < self.stops.by_event())
        strange = (self.kind == Kind.txn_logged) & ~np.isin(self.values["logged"], list(State))
        self.kinds[strange] = STRANGE

    def _stop_forgotten(self) -> None:
        """Retries that name what the model remembers, and the coordinator does not."""
        v = self.values
        logged = self.at(Kind.txn_logged)
        of_record = Lanes(self.lane[logged])
        empty = self.e("state", logged) == State.Empty
        number = v["number"][logged]
        previous = np.where(of_record.places > of_record.start, np.roll(number, 1), 0)
        erased = np.zeros(self.lanes.count, bool)
        erased[logged] = empty & (number == previous)
        ended = self.at(Kind.end_handled)
        record = self.lanes.last(self.kind == Kind.txn_logged)[ended]
        wrong = np.isin(v["error"][ended], (codes.INVALID_STATE, codes.FENCED)) & (record >= 0) & erased[record]
        self.stops.add(ended[wrong], 2, ERASED)
        emptied = np.zeros(self.lanes.count, bool)
        emptied[logged[empty]] = True
        last_empty = self.lanes.last(emptied)
        expired = self.lanes.last(self.kind == Kind.id_expired)
        named = np.where(emptied & (expired > last_empty), v["named"], 0)
        inits = self.at(Kind.init_handled)
        remembered = np.append(named, 0)[last_empty[inits]]
        wrong = (v["error"][inits] == codes.FENCED) & (v["named"][inits] == remembered) & (remembered != 0)
        self.stops.add(inits[wrong], 2, FORGOTTEN)

    # In words

    def told(self, lane: int) -> str:
        """Which number in a lane is whose."""
        upto = int(np.searchsorted(self.lane, lane, side="right"))
        kept = np.flatnonzero(self.kept[:upto] & (self.lane[:upto] == lane))
        upto, last, found = int(kept[-1]) + 1, int(self.last[lane]), []
        for what, names in (("client", self.clients), ("transaction", self.txns)):
            found += [f"{what} {number} is {name}" for number, name in names.of_lane(lane, upto).items()]
        for rank, producer_id in self.pairs.of_lane(lane, upto).items():
            base = 1 + rank * (last + 2)
            found.append(f"numbers {base} to {base + last + 1} are epochs of producer id {producer_id}")
        return f"in the model of transactional id {self.cut.keys[lane]}: {'; '.join(found)}"


def _others(cut: Cut, at: np.ndarray) -> np.ndarray:
    """Of these events, each of which reads a group's offset: has a producer of another id one pending there?"""
    e, asked = cut.e, cut.row[at]
    rows = np.flatnonzero(one_of(e["kind"], (Kind.batch_appended, Kind.marker_appended)))
    history, partition = (np.append(x[rows], x[asked]) for x in (cut.history, e["partition"]))
    place, _ = dense(history, partition)
    mine, _ = dense(place, np.append(cut.owner[rows], cut.keys[cut.lane[at]]))
    producer, _ = dense(place[: len(rows)], e["producer_id"][rows])  # of one id, each ends what is its own
    opens = np.append(e["kind"][rows] == Kind.batch_appended, False)  # the last: where nothing came before
    change = opens[:-1].astype(np.int64) - opens[before(producer, rows, producer, rows)]
    found: np.ndarray = sums_before(place, rows, change, asked) > sums_before(mine, rows, change, asked)
    return found
