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


def pair_handed_twice(events):
    """txn.P7: two instances get one producer id and epoch from InitProducerId."""
    pairs = [(e.producer_id, e.epoch) for e in of(events, "init_taken", "fence_told") if not e.error]
    return len(pairs) != len(set(pairs))


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


def fenced_commits(events):
    """txn.P1: EndTxn leaves after an administrator was told that the id is fenced, and commits."""
    fenced = [event.step for event in of(events, "fence_told") if not event.error]
    late = {event.txn for event in of(events, "end_sent") if fenced and event.step > fenced[0]}
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


def never_commits_again(events):
    """txn.P10: after the first one no transaction of the lone producer is committed."""
    return len(of(events, "txn_begun")) > 3 and len(told_committed(events)) < 2


def unanswered(events):
    """txn.P11: in the end a call of the one client that there is has not come to its end: it was not given the id, or a
    record of its is not acknowledged."""
    asked = {event.client for event in of(events, "init_sent")}
    given = {event.client for event in of(events, "init_taken") if not event.error}
    begun, ended = {event.txn for event in of(events, "txn_begun")}, {event.txn for event in of(events, "end_told")}
    return bool(asked - given) or bool(begun - ended)


def begins_once(events):
    """txn.P11: the lone producer, which is to begin two transactions, begins one."""
    return len(of(events, "txn_begun")) == 1


def offsets_stay_pending(events):
    """txn.P10: the last OffsetFetch is still answered with UNSTABLE_OFFSET_COMMIT."""
    return of(events, "offset_fetched")[-1].error == 88


def uncommitted_offset_visible(events):
    """txn.P2: an offset is visible whose transaction's owner never heard of a commit."""
    txns, committed = txn_of(events), told_committed(events)
    visible = [event.record for event in of(events, "offset_fetched") if event.record >= 0]
    return any(txns[record] not in committed for record in visible)


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


def init_succeeds_while_ending(events):
    """txn.3: InitProducerId answers with success while a Prepare record is the last of its id."""
    state = {}
    for event in events:
        if event.kind == "txn_logged":
            state[event.txn_id] = event.state
        elif event.kind == "init_handled" and not event.error and state[event.txn_id] in PREPARED:
            return True
    return False


def epoch_skipped(events):
    """txn.18 (v1): the log's epoch of an id goes up by more than one at once."""
    epoch = {}
    for event in of(events, "txn_logged"):
        if event.epoch - epoch.get(event.txn_id, event.epoch) > 1:
            return True
        epoch[event.txn_id] = event.epoch
    return False


def epoch_begins_late(events):
    """txn.13: the first batch of an epoch, at a partition that knows the producer, has another number than 0."""
    known = {}
    for event in of(events, "batch_appended", "marker_appended"):
        key = (event.partition, event.producer_id)
        if (
            event.kind == "batch_appended"
            and event.sequence > 0
            and known.get(key, (event.epoch, 0)) == (event.epoch, -1)
        ):
            return True
        known[key] = (event.epoch, event.sequence)
    return False


def gap_without_a_gap(events):
    """txn.14: a lone producer that only repeats itself is told that a sequence number is missing."""
    return any(event.error == 45 for event in of(events, "record_failed"))


def asks_before_the_marker(events):
    """txn.16: a leader asks for a batch while the producer's older transaction is open at the partition."""
    open_epoch = {}
    for event in events:
        key = (event.partition, event.producer_id)
        if event.kind == "batch_appended":
            open_epoch[key] = event.epoch
        elif event.kind == "marker_appended":
            open_epoch.pop(key, None)
        elif event.kind == "check_asked" and open_epoch.get(key, event.epoch) < event.epoch:
            return True
    return False


def fencing_gives_up(events):
    """618.12: Admin.fenceProducers fails with an error that is to be retried."""
    return any(event.error in (14, 15, 16, 51) for event in of(events, "fence_told"))


def committed_offset_lost(events):
    """txn.P4, txn.P2: OffsetFetch does not answer with the last offset that a transaction told committed has sent."""
    committed, latest = told_committed(events), {}
    for event in of(events, "record_acked"):
        if event.txn in committed:
            latest[event.partition] = event.record
    fetched = of(events, "offset_fetched")
    return any(not event.error and event.record != latest.get(event.partition) for event in fetched[-1:])


def lone_of_its_id_fails(events):
    """txn.P8: a producer whose transactional id no other instance has asked for ends in a fatal error."""
    holders = {}
    for event in of(events, "init_sent"):
        holders.setdefault(event.txn_id, set()).add(event.client)
    alone = {client for clients in holders.values() if len(clients) == 1 for client in clients}
    return any(event.client in alone for event in of(events, "client_failed"))


def other_producer_id(events):
    """txn.4: a transactional id is given another producer id, though the first has epochs left."""
    asked = {event.client: event.txn_id for event in of(events, "init_sent")}
    given = {(asked[event.client], event.producer_id) for event in of(events, "init_taken") if not event.error}
    return len({txn_id for txn_id, _ in given}) < len(given)


def offset_never_there(events):
    """txn.P4: OffsetFetch says that there is no offset, after a transaction with offsets was told committed."""
    return bool(told_committed(events)) and any(event.record < 0 for event in of(events, "offset_fetched"))
