"""By which events of transactions a danger shows; see `fencepost.properties.history.signs`."""

import numpy as np
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.transactions.history.events import Kind

WRITTEN = (Kind.batch_appended, Kind.batch_duplicate, Kind.batch_refused)


def _late(e: Events) -> int:
    """Requests that reach a partition after the client was told the end of the transaction that they belong to."""
    sent, told, arrived = e.of(Kind.record_sent), e.of(Kind.end_told), e.of(*WRITTEN)
    told = told[e["error"][told] == 0]
    ended, mine = e.together((told, sent), "client", "txn")
    count = int(max(ended.max(initial=-1), mine.max(initial=-1))) + 1
    end_of = e.first(told, ended, count)[mine]  # for each send the row of its transaction's end
    carried, requests = e.together((sent, arrived), "request")
    count = int(max(carried.max(initial=-1), requests.max(initial=-1))) + 1
    over = np.full(count, len(e["kind"]), np.int64)
    over[carried] = end_of
    return int((over[requests] < arrived).sum())


def _zombies(e: Events) -> int:
    """What an initialised client sends after another instance of its transactional id has been initialised."""
    started, taken = e.of(Kind.client_started), e.of(Kind.init_taken)
    taken = taken[e["error"][taken] == 0]
    sent = e.of(Kind.add_sent, Kind.record_sent, Kind.end_sent)
    starts, takers, senders = e.together((started, taken, sent), "client")
    count = int(max(starts.max(initial=-1), takers.max(initial=-1), senders.max(initial=-1))) + 1
    of = np.full(count, -1, np.int64)
    of[starts] = e.groups(started, "txn_id")
    if not len(taken):
        return 0
    end = len(e["kind"]) + 1
    order = np.argsort(of[takers] * end + taken)
    moments, owners = (of[takers] * end + taken)[order], takers[order]
    latest = np.searchsorted(moments, of[senders] * end + sent) - 1
    same = (latest >= 0) & (moments[latest] // end == of[senders]) & (of[senders] >= 0)
    return int((same & (owners[latest] != senders) & np.isin(senders, takers)).sum())


def _lost(e: Events) -> int:
    """Requests with a record that no leader saw, and whose record was sent again."""
    sent, arrived = e.of(Kind.record_sent), e.of(*WRITTEN)
    records = e.groups(sent, "record")
    again = np.bincount(records)[records] > 1 if len(sent) else np.zeros(0, np.bool_)
    mine, theirs = e.together((sent, arrived), "request")
    last = np.zeros(len(sent), np.bool_)
    if len(sent):
        last[np.unique(records[::-1], return_index=True)[1]] = True  # of each record, its last sending
        last = last[::-1]
    return int((again & ~last & ~np.isin(mine, theirs)).sum())


def _answered_again(e: Events) -> int:
    """Transactions whose end the coordinator answered without an error more than once."""
    handled, sent = e.of(Kind.end_handled), e.of(Kind.end_sent)
    handled = handled[e["error"][handled] == 0]
    mine, theirs = e.together((handled, sent), "request")
    count = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    of = np.full(count, -1, np.int64)
    of[theirs] = e.groups(sent, "client", "txn")
    ended = of[mine]
    return int((np.bincount(ended[ended >= 0]) > 1).sum()) if len(ended) else 0


def _overtaken(e: Events) -> int:
    """Batches that are written behind one that the same client sent later."""
    sent, written = e.of(Kind.record_sent), e.of(Kind.batch_appended)
    mine, theirs = e.together((sent, written), "request")
    count = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    row = np.full(count, -1, np.int64)
    row[mine] = sent
    sender = np.full(count, -1, np.int64)
    sender[mine] = e.groups(sent, "client")
    rows, senders = row[theirs], sender[theirs]
    found = 0
    for client in np.unique(senders[senders >= 0]):
        own = rows[senders == client]
        found += int((own < np.maximum.accumulate(own)).sum())
    return found


def _repeated(e: Events, within: tuple[str, ...], name: str) -> int:
    """Groups of records sent that have more than one value of ``name``."""
    sent = e.of(Kind.record_sent)
    if not len(sent):
        return 0
    each = np.unique(np.stack([e.groups(sent, *within), e[name][sent]]), axis=1)[0]
    return int((np.bincount(each) > 1).sum())


SIGNS = (
    Sign("late-copy", "requests that arrive after the end of their transaction was told", _late),
    events("duplicate", "batches that arrive once more", Kind.batch_duplicate),
    Sign("loss", "requests that no leader saw, whose record was sent again", _lost),
    Sign("lost-answer", "transactions whose end was answered twice", _answered_again),
    Sign("reordering", "batches that were overtaken", _overtaken),
    events("client-crash", "clients that crash", Kind.client_stopped),
    Sign("zombie", "what a client sends after another has taken its place", _zombies),
    Sign("several-ids", "transactional ids beside the first", lambda e: e.further(e.of(Kind.txn_begun), (), "txn_id")),
    Sign("several-groups", "groups whose offsets are read, beside the first",
         lambda e: e.further(e.of(Kind.offset_fetched), (), "partition")),
    Sign("several-records", "transactions with several records in one partition",
         lambda e: _repeated(e, ("client", "txn", "partition"), "record")),
    Sign("several-partitions", "transactions over several partitions",
         lambda e: _repeated(e, ("client", "txn"), "partition")),
    Sign("slow-reader", "fetches that go on where the reader's fetch before ended",
         lambda e: len(e.of(Kind.fetched)) - len(np.unique(e.groups(e.of(Kind.fetched), "client", "partition")))),
    events("coordinator-fail-over", "fail-overs of the coordinator", Kind.coordinator_loaded),
    events("failed-append", "appends to the transaction log that do not succeed", Kind.append_failed),
    events("id-expiry", "transactional ids that expire", Kind.id_expired),
    events("time-out", "transactions that time out", Kind.timed_out),
    Sign("end-of-epochs", "producer ids that a transactional id was given, beside the first",
         lambda e: e.further(e.of(Kind.txn_logged), ("txn_id",), "producer_id")),
    events("broker-restart", "leaders that lose what only their memory held", Kind.leader_changed),
)  # fmt: skip
