"""The monitor finds each promise broken in the fewest hand-made events that can break it."""

import pytest
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Made, Run, read
from fencepost.properties.transactions.events.kinds import TRANSACTIONS
from fencepost.properties.transactions.histories.late import EXPECTING, MARKED, STOLEN, UNVERIFIED
from fencepost.properties.transactions.histories.late import OPENED as BEGUN_LATE
from fencepost.properties.transactions.interface import Call, Probed, Settled, message
from fencepost.reference_impl.systems.transactions import reference

COMMIT, ABORT = 1, 0
PAIR = {"producer_id": 7, "epoch": 0}
NEXT = {"producer_id": 7, "epoch": 1}
OPENED = (
    {"kind": "init_sent", "client": 0, "txn_id": 0, "request": 0},
    {"kind": "init_taken", "client": 0, "request": 0, **PAIR},
    {"kind": "txn_begun", "client": 0, "txn_id": 0, "txn": 0, **PAIR},
    {"kind": "record_sent", "client": 0, "txn": 0, "partition": 0, "record": 0, "sequence": 0, "request": 1, **PAIR},
)
ACKED = (
    *OPENED,
    {"kind": "record_acked", "client": 0, "txn": 0, "partition": 0, "record": 0, "request": 1, "offset": 0},
)
FETCHED = {"kind": "fetched", "client": 1000, "partition": 0, "offset": 0, "upto": 10}
READ = {"kind": "record_read", "client": 1000, "partition": 0, "offset": 0, "record": 0}


OUTSIDE = driven("transactions").black_box
INSIDE = frozenset(TRANSACTIONS.codes) - {"partition_checked"}  # without those, leaders append as they like


def ending(outcome, request=2):
    return {"kind": "end_sent", "client": 0, "txn": 0, "outcome": outcome, "request": request, **PAIR}


def reported(outcome, request=2, error=0, pair=NEXT):
    return {"kind": "end_told", "client": 0, "txn": 0, "outcome": outcome, "request": request, "error": error, **pair}


def logged(state, epoch, producer_id=7):
    return {"kind": "txn_logged", "txn_id": 0, "state": state, "producer_id": producer_id, "epoch": epoch}


def appended(record=0, offset=0, epoch=0, sequence=0, partition=0):
    return {
        "kind": "batch_appended", "partition": partition, "offset": offset, "record": record, "sequence": sequence,
        "producer_id": 7, "epoch": epoch,
    }  # fmt: skip


def marker(outcome, epoch=1, offset=1, coordinator_epoch=0, partition=0):
    return {
        "kind": "marker_appended", "partition": partition, "offset": offset, "producer_id": 7, "epoch": epoch,
        "outcome": outcome, "coordinator_epoch": coordinator_epoch,
    }  # fmt: skip


INIT, END = (message(kind, "client-0", "coordinator") for kind in ("init", "end"))
PRODUCE = message("produce", "client-0", "partition-0")


def delivered(kind, request, source="client-0", target="coordinator"):
    return {"call": Call("deliver", message(kind, source, target)), "message": (request, kind, source, target, request)}


def monitor(mode="v2", expecting=frozenset(), observed=OUTSIDE, **config):
    config = {"mode": mode, "partitions": 1, "groups": 0, **config}
    watching = driven("transactions").monitoring(config, frozenset(expecting))
    watching.observed = observed
    return watching


def fed(watching, *events, call=None, result=None, message=None, flying=()):
    """Return the monitor after one call with these events, where everything read was fetched before."""
    observed = []
    for event in events:
        if event["kind"] == "record_read" and not any(e["kind"] == "fetched" for e in events):
            observed.append(FETCHED)
        observed.append(event)
    watching.observed |= {e["kind"] for e in observed}
    watching.watch(Made(call or Call("begin", 0), "", result, tuple(observed), message), flying)
    return watching


def broken_by(*events, **config):
    """Return the promise or rule that these events break, or an empty text."""
    found = fed(monitor(**config), *events).found
    return found.rule if found else ""


def test_nothing_is_broken_by_a_transaction_as_it_should_be():
    events = (
        *OPENED[:3], logged(0, 0), OPENED[3], logged(1, 0),
        {"kind": "partition_checked", "txn_id": 0, "partition": 0, **PAIR},
        appended(), ACKED[-1], ending(COMMIT), logged(2, 1),
        {"kind": "end_handled", "txn_id": 0, "request": 2, "outcome": COMMIT, **NEXT}, reported(COMMIT),
        marker(COMMIT), {"kind": "stable_moved", "partition": 0, "upto": 2}, logged(4, 1),
        {"kind": "fetched", "client": 1000, "partition": 0, "offset": 0, "upto": 2}, READ,
    )  # fmt: skip
    watching = fed(monitor(), *events)
    assert watching.found is None
    settled = Settled(True, 0, (((0, 0),),), (((0, 0),),), ())
    assert fed(watching, call=Call("settle", 5, 1, 0), result=settled).found is None
    assert fed(watching, call=Call("probe", 1, 0), result=Probed(True, True, (), 0)).found is None


def test_zombie_that_is_read():
    """txn.P1: A record that is sent after its producer was fenced must never be read."""
    fence = {"kind": "fence_told", "client": 5, "txn_id": 0, "request": 9, **NEXT}
    late = {**OPENED[3], "record": 1, "request": 3, "sequence": 1}
    read = {**READ, "record": 1}
    assert broken_by(*OPENED, fence, late, ending(COMMIT)) == ""
    assert broken_by(*OPENED, fence, late, ending(COMMIT), read) == "txn.P1"
    assert broken_by(*OPENED, late, fence, ending(COMMIT), read) == ""


def test_zombie_that_is_told_commit():
    """txn.P1: A producer that asks for a commit after its fence must be refused, but not one that asked before."""
    before = (*ACKED, {"kind": "init_sent", "client": 1, "txn_id": 0, "request": 9})
    fence = {"kind": "init_taken", "client": 1, "request": 9, **NEXT}
    answered = reported(COMMIT, pair=PAIR)
    assert broken_by(*before, ending(COMMIT), fence, answered, mode="v1") == ""
    assert broken_by(*before, fence, ending(COMMIT), reported(COMMIT, error=47), mode="v1") == ""
    assert broken_by(*before, fence, ending(COMMIT), answered, mode="v1") == "txn.P1"
    assert broken_by(*before, fence, ending(ABORT), reported(ABORT, pair=PAIR), mode="v1") == "txn.1"


@pytest.mark.parametrize("config", [{}, {"ids": 2}])
def test_zombie_whose_id_is_forgotten(config):
    """It is given another producer id, whatever pair it names (txn.20); none of which anyone has heard before (P1)."""
    taken = {"kind": "init_taken", "client": 1, "request": 5, **NEXT}
    asked = {"kind": "init_sent", "client": 0, "txn_id": 0, "request": 6, **PAIR}
    another, known = ({**OPENED[1], "request": 6, "producer_id": pid, "epoch": e} for pid, e in ((8, 0), (7, 2)))
    for events, call, expected in (
        ([asked, another], Call("expire"), ""),
        ([asked, known], Call("expire"), "txn.P1"),
        ([asked, another], Call("advance", 60_000), "txn.P1"),
    ):
        watching = fed(monitor("v1", **config), *OPENED[:2], {**OPENED[0], "client": 1, "request": 5}, taken)
        watching.only = frozenset({"txn.P1"})
        found = fed(fed(watching, call=call), *events).found
        assert (found.rule if found else "") == expected


def test_late_record_excuses_no_zombie_that_commits():
    """txn.P1: In v1 the next producer's marker may commit a late record of a fenced producer, as predicted, if its own
    transaction was over before the fence, so that the partition got no greater epoch. This is no excuse if the fence
    ended that transaction, or if the fenced producer itself was answered with success."""
    late = {**OPENED[3], "record": 1, "request": 3, "sequence": 1}
    fence = ({"kind": "init_sent", "client": 1, "txn_id": 0, "request": 9}, {"kind": "init_taken", "client": 1,
             "request": 9, **NEXT})  # fmt: skip
    record, end = delivered("produce", 3, target="partition-0"), delivered("end", 2)
    init = delivered("init", 9, source="client-1")
    read_it = (appended(1, offset=0), {**READ, "record": 1})

    def watched(*ended, answers=()):
        watching = monitor("v1", EXPECTING["v1"])
        watching.only = frozenset({"txn.P1"})
        fed(watching, *OPENED, late, ending(ABORT))
        for delivered in ended:
            fed(watching, **delivered)
        fed(watching, fence[0])
        fed(watching, **init)
        fed(watching, fence[1], *answers)
        return fed(watching, *read_it, **record)

    over = watched(end)
    assert over.found is None
    assert [(broken.rule, broken.excuse) for broken in over.predicted] == [("txn.P1", str(UNVERIFIED))]
    assert watched().found.rule == "txn.P1"
    commit = ({**ending(COMMIT, request=7)}, reported(COMMIT, request=7))
    assert watched(end, answers=commit).found.rule == "txn.P1"


SECOND = {"kind": "txn_begun", "client": 0, "txn_id": 0, "txn": 1, **PAIR}
FIRST_ENDED = (*ACKED, ending(COMMIT), reported(COMMIT, pair=PAIR))
OTHER = {**OPENED[3], "txn": 1, "record": 1, "sequence": 1, "request": 5}
ABORTED = {**reported(ABORT, request=8, pair=PAIR), "txn": 1}


LATE = {
    STOLEN: ((*FIRST_ENDED, SECOND, OTHER), delivered("end", 2)),
    MARKED: ((*FIRST_ENDED, SECOND, OTHER), delivered("marker", 6, "coordinator", "partition-0")),
}


@pytest.mark.parametrize("excuse", [STOLEN, MARKED], ids=str)
def test_what_is_decided_by_a_late_copy_excuses_that_transaction_alone(excuse):
    """txn.P3: The next transaction of the producer id, which its owner aborts, is read as predicted. An earlier one
    that is read too is a failure, and is found."""
    before, late = LATE[excuse]
    read = {**READ, "record": 1, "offset": 1}

    def watched(*observed):
        watching = monitor("v1", EXPECTING["v1"])
        watching.only = frozenset({"txn.P3"})
        flying = ((6, "marker", "coordinator", "partition-0", 6),)
        fed(watching, *FIRST_ENDED, flying=flying)
        fed(watching, *before[len(FIRST_ENDED) :], flying=flying)
        fed(watching, **late)
        return fed(watching, *observed)

    asked = {**ending(ABORT, request=8), "txn": 1}
    one = watched(asked, ABORTED, read)
    assert one.found is None
    assert {broken.excuse for broken in one.predicted} == {str(excuse)}
    third = {**SECOND, "txn": 2}, {**OTHER, "txn": 2, "record": 2, "request": 11, "sequence": 2}
    two = watched(asked, ABORTED, read, *third, {**READ, "record": 2, "offset": 2})
    assert two.found is not None and two.found.rule == "txn.P3"


def test_a_late_record_excuses_itself_alone():
    """txn.P3: A late record may be read although its transaction was aborted, as predicted, but not another record of
    that transaction that arrived in time."""
    late = {**OPENED[3], "record": 1, "request": 3, "sequence": 1}

    def watched(*records):
        watching = monitor("v1", EXPECTING["v1"])
        watching.only = frozenset({"txn.P3"})
        fed(watching, *ACKED, late, ending(ABORT))
        fed(watching, **delivered("end", 2))
        fed(watching, reported(ABORT, pair=PAIR), **delivered("produce", 3, target="partition-0"))
        return fed(watching, *({**READ, "record": record, "offset": record} for record in records))

    assert watched(1).found is None
    assert {broken.excuse for broken in watched(1).predicted} == {str(UNVERIFIED)}
    assert watched(0).found.rule == "txn.P3"
    assert watched(1, 0).found.rule == "txn.P3"


def test_a_late_add_excuses_its_owner_until_its_next_pair():
    """txn.P8: A late add opens a transaction whose fence hits its owner, as predicted, until it has another pair."""
    failed = {"kind": "client_failed", "client": 0, "error": 90}
    add = {"kind": "add_sent", "client": 0, "txn": 0, "partition": 0, "request": 4, **PAIR}

    def watched(*after):
        watching = monitor("v1", EXPECTING["v1"])
        fed(watching, *OPENED[:3], add, OPENED[3], ACKED[-1], ending(ABORT))
        fed(watching, **delivered("end", 2))
        fed(watching, reported(ABORT, pair=PAIR))
        fed(watching, **delivered("add", 4))
        return fed(fed(watching, *after), failed)

    assert watched().found is None
    assert [(broken.rule, broken.excuse) for broken in watched().predicted] == [("txn.P8", str(BEGUN_LATE))]
    again = {"kind": "init_sent", "client": 0, "txn_id": 0, "request": 12, **PAIR}
    answer = {"kind": "init_taken", "client": 0, "request": 12, "producer_id": 7, "epoch": 2}
    assert watched(again, answer).found.rule == "txn.P8"


def test_record_in_doubt_needs_a_bump():
    """txn.2: An unanswered record may arrive late, in the next transaction, but a refused one will not."""
    failed = {"kind": "record_failed", "client": 0, "txn": 0, "partition": 0, "record": 0, "request": 1}
    following = {**OPENED[2], "txn": 1}
    assert broken_by(*OPENED, {**failed, "error": 7}, following, mode="v1") == "txn.2"
    assert broken_by(*OPENED, {**failed, "error": 7}, {**following, **NEXT}, mode="v1") == ""
    assert broken_by(*OPENED, {**failed, "error": 120}, following, mode="v1") == ""


def test_one_fate():
    """txn.P2: The markers of one transaction must not differ between partitions."""
    there = {**OPENED[3], "partition": 1, "record": 1, "request": 4}
    events = (*OPENED, there, appended(), appended(1, partition=1), ending(COMMIT), ending(ABORT, 3), marker(COMMIT))
    assert broken_by(*events, marker(COMMIT, partition=1), partitions=2) == ""
    assert broken_by(*events, marker(ABORT, partition=1), partitions=2) == "txn.P2"


def test_aborted_or_open_record_that_is_read():
    """txn.P3, txn.P5: A record must not be read while its transaction is open or aborted, or only an abort was sent."""
    assert broken_by(*ACKED, ending(COMMIT), READ) == ""
    assert broken_by(*ACKED, READ) == "txn.P3"
    assert broken_by(*ACKED, ending(ABORT), READ) == "txn.P5"
    assert broken_by(*ACKED, ending(ABORT), reported(ABORT), READ) == "txn.P3"
    assert broken_by({**READ, "record": 77}) == "txn.P3"


def test_read_at_the_last_stable_offset():
    """txn.17: The bound is the first offset that is not readable, and no offset below it is undecided."""
    fetch = {"kind": "fetched", "client": 1000, "partition": 0, "offset": 0, "upto": 0}
    assert broken_by(*ACKED, ending(COMMIT), {**fetch, "upto": 1}, READ) == ""
    assert broken_by(*ACKED, ending(COMMIT), fetch, READ) == "txn.17"
    stable = {"kind": "stable_moved", "partition": 0, "upto": 1}
    assert broken_by(*OPENED, appended(), stable, observed=INSIDE) == "txn.17"


@pytest.mark.parametrize(("told_of", "rule"), [(COMMIT, "txn.P4"), (ABORT, "")])
def test_acknowledged_commit_that_is_not_read(told_of, rule):
    """txn.P4: Readers that read to the end get every record, and the program names the missing one."""
    watching = fed(monitor(), *ACKED, ending(told_of), reported(told_of))
    settled = Settled(True, 0, ((),), (((0, 0),),), ())
    found = fed(watching, call=Call("settle", 5, 1, 0), result=settled).found
    assert (found.rule if found else "") == rule
    if found:
        assert not eval(found.check, {"result": settled})
        assert eval(found.check, {"result": settled._replace(records=(((0, 0),),))})


def test_readers_who_differ():
    """txn.P9: A reader during the run must have got what every reader gets in the end."""
    second = {**OPENED[3], "record": 5, "sequence": 1, "request": 4}
    watching = fed(monitor(), *OPENED, second, ending(COMMIT), READ)
    others = {**FETCHED, "client": 1005}, {**READ, "client": 1005, "record": 5}
    settled = Settled(True, 0, (((0, 5), (1, 0)),), (((0, 0),),), ())
    assert fed(watching, *others, call=Call("settle", 5, 1, 0), result=settled).found.rule == "txn.P9"


def test_two_outcomes():
    """txn.P5: The owner's answer, its request, the log and the markers have one outcome."""
    assert broken_by(*ACKED, ending(COMMIT), reported(COMMIT), reported(COMMIT)) == ""
    assert broken_by(*ACKED, ending(COMMIT), ending(ABORT, 3), reported(COMMIT), reported(ABORT, 3)) == "txn.P5"
    assert broken_by(*ACKED, ending(COMMIT), reported(ABORT)) == "txn.P5"
    assert broken_by(*OPENED, logged(1, 0), logged(2, 1)) == "txn.P5"
    assert broken_by(*OPENED, logged(1, 0), ending(COMMIT), logged(2, 1), logged(3, 2), observed=INSIDE) == "txn.8"
    assert broken_by(*OPENED, appended(), marker(COMMIT)) == "txn.P5"
    assert broken_by(*ACKED, ending(COMMIT), READ, ending(ABORT, 3), reported(ABORT, 3)) == "txn.P3"


def test_commit_that_lost_is_told_so():
    """txn.7: An EndTxn that arrives after the time-out is not answered without error."""
    answer = {"kind": "end_handled", "txn_id": 0, "request": 2, "outcome": COMMIT, **NEXT}
    timed_out = {"kind": "timed_out", "txn_id": 0, **PAIR}
    events = (*OPENED, logged(1, 0), timed_out, logged(3, 2), ending(COMMIT))
    assert broken_by(*events) == ""
    assert broken_by(*events, answer) == "txn.7"


def test_record_twice():
    """txn.P6, txn.14: One logical send is on its partition once."""
    seen = {"kind": "record_seen", "client": 1001, "partition": 0, "offset": 0, "record": 0}
    assert broken_by(*OPENED, seen, {**seen, "client": 1002}) == ""
    assert broken_by(*OPENED, seen, {**seen, "offset": 3}) == "txn.P6"
    assert broken_by(*OPENED, appended(), appended(offset=1, sequence=1)) == "txn.14"


def test_pairs():
    """txn.P7, txn.4: A pair has one owner, and epochs grow and end below the largest."""
    other = {"kind": "init_taken", "client": 1, "request": 5}
    assert broken_by(*OPENED, {**other, **NEXT}) == ""
    assert broken_by(*OPENED, {**other, **PAIR}) == "txn.P7"
    assert broken_by(*OPENED, {**other, "producer_id": 8, "epoch": 3}, max_epoch=3) == "txn.4"
    assert broken_by(*OPENED, {**other, "producer_id": 8, "epoch": 2}, max_epoch=3) == ""
    assert broken_by(logged(0, 4), logged(0, 3)) == "txn.P7"
    assert broken_by(logged(0, 4), logged(0, 4, 8), logged(0, 0, 7), max_epoch=5, observed=INSIDE) == "txn.P7"
    used_up = logged(0, 4), logged(0, 0, 8), logged(0, 4, 8), logged(0, 0, 7)
    assert broken_by(*used_up, max_epoch=5, observed=INSIDE) == "txn.P7"


def test_new_producer_id_that_fences_nobody():
    """txn.1: InitProducerId raises the epoch while the producer id has epochs left. It gives another id only when they
    are used up, perhaps unseen, or when the transactional id was forgotten."""
    other = {"kind": "init_taken", "client": 1, "request": 5, "producer_id": 8, "epoch": 0}
    assert broken_by(*OPENED, other) == "txn.1"
    assert broken_by(*OPENED, other, max_epoch=4) == "txn.1"
    assert broken_by(*OPENED, other, max_epoch=3) == ""
    assert broken_by(*OPENED, other, expiration_ms=20_000) == ""
    week = fed(fed(monitor(), *OPENED), call=Call("advance", 7 * 24 * 3_600_000))
    assert fed(week, other).found is None
    busy = fed(monitor(max_epoch=6), *OPENED)
    assert fed(fed(busy, call=Call("advance", 1)), other).found is None


def test_lone_client_that_is_fenced():
    """txn.P8: A lone client that only repeats itself must not be fenced, unless it is too late."""
    failed = {"kind": "client_failed", "client": 0, "error": 90}
    assert broken_by(*OPENED, failed) == "txn.P8"
    assert broken_by(*OPENED, {"kind": "init_sent", "client": 1, "txn_id": 0, "request": 9}, failed) == ""
    late = fed(fed(monitor(), *OPENED), call=Call("advance", 60_000))
    assert fed(late, failed).found is None
    copy = (0, "init", "client-0", "coordinator", 0)
    doubtful = fed(fed(monitor(), *OPENED), call=Call("deliver", INIT), message=copy)
    assert fed(doubtful, failed).found is None
    reported = ({"kind": "init_taken", "client": 0, "request": 9, "error": -1}, {**failed, "error": -1})
    assert [broken_by(*OPENED, *reported, max_epoch=last) for last in (2, 3)] == [
        "",
        "txn.P8",
    ]  # -1 where 1 is the last


def test_copy_of_its_first_request_may_fence_a_lone_client():
    """InitProducerId without a pair bumps the epoch each time, so that a copy leaves behind a client whose answer is on
    its way. If that answer was lost or an error, the client goes on with the answer to the copy. A request with a pair
    gets the same answer again, without a bump."""
    failed = {"kind": "client_failed", "client": 0, "error": 47}
    answered = (1, "init_answer", "coordinator", "client-0", 0)
    copy = {"call": Call("deliver", INIT), "message": (0, "init", "client-0", "coordinator", 0)}
    handled = {"kind": "init_handled", "txn_id": 0, "request": 0, "producer_id": -1, "epoch": -1, "error": 51}

    def after(first, *observed, flying):
        watching = fed(monitor(), first, *observed, flying=flying)
        return fed(fed(watching, **copy), *OPENED[1:], failed).found

    assert after(OPENED[0], flying=(answered,)) is None
    assert after(OPENED[0], flying=()).rule == "txn.P8"
    assert after(OPENED[0], handled, flying=(answered,)).rule == "txn.P8"
    assert after({**OPENED[0], **PAIR}, flying=(answered,)).rule == "txn.P8"


@pytest.mark.parametrize("mode", ["v1", "v1-verified", "v2"])
@pytest.mark.parametrize("observed", [OUTSIDE, frozenset(TRANSACTIONS.codes)])
def test_initialized_twice_over(mode, observed):
    """InitProducerId is delivered twice, the first answer is taken, and the producer's requests are refused (47, 90).
    Kafka does the same, and no promise is broken."""
    answer = message("init_answer", "coordinator", "client-0")
    config = {"seed": 0, "mode": mode, "clients": 1, "partitions": 1, "groups": 0, "max_epoch": 32767}
    watching = driven("transactions").monitoring(config, frozenset())
    watching.observed = observed
    run = Run(reference, config, watching)
    for call in (
        Call("init", 0), Call("deliver", INIT, keep=True), Call("log_append"), Call("deliver", INIT),
        Call("log_append"), Call("deliver", answer), Call("begin", 0), Call("send", 0, 0),
    ):  # fmt: skip
        assert run.call(call) is not None
    while run.system.messages():
        _, kind, source, target, _ = run.system.messages()[0]
        run.call(Call("deliver", message(kind, source, target)))
    errors = {read(e, "error", 0) for made in run.made for e in made.events}
    assert errors & {47, 90}
    assert watching.found is None, str(watching.found)


@pytest.mark.parametrize("mode", ["v1", "v1-verified", "v2"])
@pytest.mark.parametrize("observed", [OUTSIDE, frozenset(TRANSACTIONS.codes)])
def test_fenced_before_it_took_the_answer(mode, observed):
    """An admin's request arrives between a producer's and the answer that it takes, so that it is rightly fenced from
    the start. Without the admin that would break txn.P8."""
    config = {"seed": 0, "mode": mode, "clients": 1, "partitions": 1, "groups": 0, "max_epoch": 32767}
    answer, admins = message("init_answer", "coordinator", "client-0"), message("init", "admin-0", "coordinator")
    watching = driven("transactions").monitoring(config, frozenset())
    watching.observed = observed
    run = Run(reference, config, watching)
    for call in (
        Call("init", 0), Call("fence"), Call("deliver", INIT), Call("log_append"), Call("deliver", admins),
        Call("log_append"), Call("deliver", answer), Call("begin", 0), Call("send", 0, 0),
    ):  # fmt: skip
        assert run.call(call) is not None
    while run.system.messages():
        _, kind, source, target, _ = run.system.messages()[0]
        run.call(Call("deliver", message(kind, source, target)))
    assert {read(e, "error", 0) for made in run.made for e in made.events} & {47, 90}
    assert watching.found is None, str(watching.found)
    alone = fed(
        fed(monitor(mode), OPENED[0], flying=((0, "init", "client-0", "coordinator", 0),)), **delivered("init", 0)
    )
    assert fed(alone, *OPENED[1:], {"kind": "client_failed", "client": 0, "error": 90}).found.rule == "txn.P8"


def test_what_hangs():
    """txn.P10: When nothing happens any more, everything is decided and below the last stable offset."""
    settled = Settled(True, 0, ((),), (((0, 0),),), ())
    quiet = {"call": Call("settle", 5, 1, 0), "result": settled}
    fetch = {"kind": "fetched", "client": 1005, "partition": 0, "offset": 0, "upto": 0}
    for events in ((*OPENED, appended()), (*OPENED, logged(1, 0)), (*OPENED, fetch)):
        watching = fed(monitor(observed=INSIDE), *events)
        assert watching.found is None
        assert fed(watching, **quiet).found.rule == "txn.P10"
    restless = fed(monitor(), call=quiet["call"], result=settled._replace(quiet=False)).found
    assert (restless.rule, restless.check) == ("txn.P10", "result.quiet")
    for probed in (Probed(False, False, (0,), 0), Probed(True, True, (0,), 0)):
        assert fed(monitor(), call=Call("probe", 1, 0), result=probed).found.rule == "txn.P10"


def test_offsets():
    """txn.21, txn.P4: An offset is pending until its transaction ends, and an acknowledged one stays."""
    fetched = {"kind": "offset_fetched", "client": 1000, "partition": 1, "record": -1}
    sent = tuple({**e, "partition": 1} if "partition" in e else e for e in ACKED)
    assert broken_by(*sent, {**fetched, "error": 88}, groups=1) == ""
    assert broken_by(*sent, fetched, groups=1) == "txn.21"
    assert broken_by(*sent, ending(COMMIT), fetched, groups=1) == ""
    assert broken_by(*sent, ending(COMMIT), reported(COMMIT), fetched, groups=1) == "txn.P4"


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ((appended(epoch=1), appended(1, 1, epoch=0)), "txn.12"),
        ((appended(), marker(ABORT), appended(1, 2, epoch=1, sequence=4)), "txn.13"),
        ((appended(), appended(1, 1, epoch=1)), "txn.16"),
        ((marker(ABORT, coordinator_epoch=3), marker(ABORT, offset=2, coordinator_epoch=2)), "txn.11"),
        ((appended(epoch=1), marker(ABORT)), "txn.11"),
        ((appended(), {**appended(1), "kind": "batch_duplicate"}), "txn.14"),
        ((appended(), {**appended(), "kind": "batch_refused", "error": 45}), "txn.14"),
        (({"kind": "partition_checked", "partition": 0, **NEXT}, appended()), "txn.15"),
        ((logged(1, 0), {"kind": "init_handled", "txn_id": 0, "request": 0, **NEXT}), "txn.3"),
        ((logged(1, 0), logged(0, 1)), "txn.8"),
        ((logged(1, 0), {"kind": "timed_out", "txn_id": 0, **PAIR}, logged(3, 1)), "txn.18"),
        ((logged(1, 0), logged(3, 4)), "txn.18"),
        ((logged(1, 0), {"kind": "id_expired", "txn_id": 0}), "txn.20"),
        (({"kind": "fence_told", "client": 5, "request": 9, "error": 51},), "618.12"),
    ],
)  # fmt: skip
def test_rules_on_the_way(events, rule):
    watching = fed(monitor(observed=frozenset(TRANSACTIONS.codes)), *events)
    assert watching.found is not None
    watching.only = frozenset({rule})
    assert watching.found.rule == rule
    assert watching.found.event in events[-1:]


def test_late_copy_excuses_what_is_expected():
    """In v1 a late EndTxn decides the next transaction, which is predicted if one was delivered, and else a failure."""
    second = {"kind": "txn_begun", "client": 0, "txn_id": 0, "txn": 1, **PAIR}
    sent = {**OPENED[3], "txn": 1, "record": 1, "sequence": 1, "request": 5}
    before = (*ACKED, ending(COMMIT), reported(COMMIT, pair=PAIR), second, sent)
    stolen = (logged(1, 0), logged(2, 0))
    copy = {"call": Call("deliver", END), "message": (3, "end", "client-0", "coordinator", 2)}
    late = fed(fed(monitor("v1", EXPECTING["v1"], observed=INSIDE), *before), *stolen, **copy)
    assert late.found is None
    assert [broken.rule for broken in late.predicted] == ["txn.P5"]
    assert fed(fed(monitor("v1", EXPECTING["v1"], observed=INSIDE), *before), *stolen).found.rule == "txn.P5"
    assert fed(fed(monitor("v1", observed=INSIDE), *before), *stolen, **copy).found.rule == "txn.P5"


def test_of_two_offsets_of_a_transaction_the_later_counts():
    """The second offset was sent after the first was acknowledged, and no copy of the first can be late."""
    first = {**OPENED[3], "partition": 1, "sequence": -1}
    second = {**first, "record": 1, "request": 3}
    acked = {**ACKED[-1], "partition": 1}
    end = (ending(COMMIT), reported(COMMIT))
    fetched = {"kind": "offset_fetched", "client": 1000, "partition": 1, "record": 0}

    def broken(*sent):
        return broken_by(*OPENED[:3], *sent, *end, fetched, groups=1)

    again = {**first, "request": 4}
    later = {**acked, "record": 1, "request": 3, "offset": 1}
    assert broken(first, acked, second, later) == "txn.21"
    assert broken(first, second, acked, later) == ""
    assert broken(first, again, acked, second, later) == ""


@pytest.mark.parametrize(("mode", "rule"), [("v1", ""), ("v2", "txn.13")])
def test_forgotten_producer_may_go_on_with_any_number(mode, rule):
    """Before v2 a leader that has forgotten a producer accepts its next batch with any number."""
    watching = monitor(mode, EXPECTING[mode], INSIDE)
    watching.only = frozenset({"txn.13"})
    epoch = int(mode == "v2")
    fed(watching, *ACKED, appended(), marker(COMMIT, epoch=epoch))
    fed(watching, call=Call("forget"), result=1)
    found = fed(watching, appended(2, 2, epoch, 2)).found
    assert ("" if found is None else found.rule) == rule
    assert fed(watching, appended(4, 3, epoch, 4)).found.rule == "txn.13"
