"""What is wrong with a history of transactions, said about its events and nothing else.

Each symptom is a function from the events of one history (all of them, in order) to whether it shows. They are written
for scripts at whose end a reader has read everything, and know nothing of any implementation.
"""

COMMIT, ABORT = 1, 0
NO_TXN = -1
PREPARED = (2, 3)


def of(events, *kinds):
    """The events of some kinds."""
    return [event for event in events if event.kind in kinds]


def txn_of(events):
    """The transaction of each record, NO_TXN of one that an idempotent producer has sent."""
    return {event.record: event.txn for event in of(events, "record_sent")}


def told_committed(events):
    """The transactions whose owner was told that they are committed."""
    return {event.txn for event in of(events, "end_told") if event.outcome == COMMIT and not event.error}


def uncommitted_read(events):
    """txn.P3, txn.P2: a read_committed reader gets a record of a transaction whose owner never heard of a commit."""
    txns, committed = txn_of(events), told_committed(events)
    return any(txns[event.record] not in committed | {NO_TXN} for event in of(events, "record_read"))


def committed_lost(events):
    """txn.P4: a record of a transaction whose commit was told is not read, although everything was."""
    txns, committed = txn_of(events), told_committed(events)
    read = {event.record for event in of(events, "record_read")}
    return any(txn in committed and record not in read for record, txn in txns.items())


def torn(events):
    """txn.P2: of one transaction a record is read and another that was acknowledged is not, although everything was."""
    txns = txn_of(events)
    read = {event.record for event in of(events, "record_read")}
    shown = {txns[record] for record in read} - {NO_TXN}
    return any(event.txn in shown and event.record not in read for event in of(events, "record_acked"))


def read_twice(events):
    """txn.P6: one record is read at two offsets."""
    seen = [(event.client, event.record) for event in of(events, "record_read")]
    return len(seen) != len(set(seen))


def epoch_out_of_range(events, max_epoch=3):
    """txn.P7: an epoch that is reserved, or negative, is handed out."""
    told = [e.epoch for e in of(events, "init_taken", "end_told", "fence_told") if not e.error]
    return any(not 0 <= epoch < max_epoch for epoch in told)


def lone_client_fails(events):
    """txn.P8: a producer that nobody competes with ends in a fatal error."""
    alone = len({event.client for event in of(events, "init_sent")}) == 1
    return alone and bool(of(events, "client_failed"))


def superseded_commits(events):
    """txn.P1: an instance commits a transaction begun after another one was given its transactional id."""
    holders, superseded, late = set(), set(), set()
    for event in events:
        if event.kind == "init_taken" and not event.error:
            superseded |= holders - {event.client}
            holders.add(event.client)
        elif event.kind == "txn_begun" and event.client in superseded:
            late.add(event.txn)
    return bool(late & told_committed(events))


def unresolved(events):
    """txn.P10: in the end some offset is not stable, some end was never told, or some transaction is still ending."""
    end, stable, state = {}, {}, {}
    for event in events:
        if event.kind in ("batch_appended", "marker_appended"):
            end[event.partition] = event.offset + 1
        elif event.kind == "stable_moved":
            stable[event.partition] = event.upto
        elif event.kind == "txn_logged":
            state[event.txn_id] = event.state
    asked = {event.txn for event in of(events, "end_sent")}
    told = {event.txn for event in of(events, "end_told")}
    behind = any(stable.get(partition, 0) < upto for partition, upto in end.items())
    return behind or bool(asked - told) or any(last in PREPARED for last in state.values())


def pending_offset_passed_over(events):
    """txn.21: OffsetFetch succeeds while a transaction with an offset is open on the partition."""
    open_on = set()
    for event in events:
        if event.kind == "batch_appended":
            open_on.add(event.partition)
        elif event.kind == "marker_appended":
            open_on.discard(event.partition)
        elif event.kind == "offset_fetched" and event.partition in open_on and not event.error:
            return True
    return False
