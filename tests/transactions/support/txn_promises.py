"""Promises that any history must keep, also one that ends in the middle: each check returns what breaks it.

Written for free-running histories with several transactional ids; `txn_symptoms.py` is for scripts.
"""

from collections import Counter, defaultdict

COMMIT, ABORT = 1, 0


def of(events, *kinds):
    """The events of some kinds."""
    return [event for event in events if event.kind in kinds]


def told(events, outcome):
    """The transactions whose owners were told this outcome."""
    return {event.txn for event in of(events, "end_told") if event.outcome == outcome and not event.error}


def aborted_reads(events):
    """txn.P3: records read whose owner never asked for a commit, or was told of an abort."""
    txns = {event.record: event.txn for event in of(events, "record_sent")}
    wanted = {event.txn for event in of(events, "end_sent") if event.outcome == COMMIT}
    fine = wanted - told(events, ABORT)
    return [event.record for event in of(events, "record_read") if txns[event.record] not in fine]


def passed_over(events):
    """txn.P4: records acknowledged and told committed that a reader's position has passed without reading them."""
    committed, read, upto = told(events, COMMIT), set(), defaultdict(int)
    fetches = of(events, "fetched")
    for fetch in fetches[:-1]:  # the history may end between the last fetch and its records
        key = fetch.client, fetch.partition
        upto[key] = max(upto[key], fetch.upto)
    read = {(event.client, event.record) for event in of(events, "record_read")}
    return [
        (reader, ack.record)
        for ack in of(events, "record_acked")
        for (reader, partition), end in upto.items()
        if ack.txn in committed and partition == ack.partition and ack.offset < end and (reader, ack.record) not in read
    ]


def read_twice(events):
    """txn.P6: (reader, record) pairs that occur more than once."""
    counts = Counter((event.client, event.record) for event in of(events, "record_read"))
    return [key for key, count in counts.items() if count > 1]


def shared_pairs(events):
    """txn.P7: (producer id, epoch) pairs that InitProducerId gave to more than one request."""
    pairs = Counter((e.producer_id, e.epoch) for e in of(events, "init_taken", "fence_told") if not e.error)
    return [pair for pair, count in pairs.items() if count > 1]


def late_commits(events):
    """txn.P1: transactions told committed that were begun under a pair when a later one was already handed out."""
    newest, late = defaultdict(lambda: (-1, -1)), set()
    ids = {event.client: event.txn_id for event in of(events, "init_sent")}
    for event in events:
        pair = (event.producer_id, event.epoch)
        if event.kind in ("init_taken", "fence_told") and not event.error:
            newest[ids[event.client]] = max(newest[ids[event.client]], pair)
        elif event.kind == "txn_begun" and pair < newest[event.txn_id]:
            late.add(event.txn)
    with_request = {event.txn for event in of(events, "end_told") if event.request >= 0}
    return sorted(late & told(events, COMMIT) & with_request)


PROMISES = (aborted_reads, passed_over, read_twice, shared_pairs, late_commits)
