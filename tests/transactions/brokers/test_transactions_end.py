"""These tests check both tables of EndTxn, when the outcome is fixed, and the next transaction's pair."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import EndTxnRequest
from fencepost.reference_impl.kafka.transaction_states import V1_RESULT, V2_RESULT
from fencepost.reference_impl.kafka.transaction_states import TransactionState as S
from txn_bench import V1, V2, VERIFIED, Bench

MODES = (V1, VERIFIED, V2)
COMMIT, ABORT = True, False


def idle(bench, state):
    """Bring transactional id 0 to an idle state, and return its epoch."""
    bench.init()
    if state != S.EMPTY:
        bench.add(0, 0)
        bench.end(0, 0, state == S.COMPLETE_COMMIT)
    assert bench.state == state
    return bench.metadata.now.producer_epoch


@pytest.mark.parametrize("mode", [V1, VERIFIED])
@pytest.mark.parametrize(
    ("state", "committed", "error"),
    [
        (S.EMPTY, COMMIT, E.INVALID_TXN_STATE),
        (S.EMPTY, ABORT, E.INVALID_TXN_STATE),
        (S.COMPLETE_COMMIT, COMMIT, E.NONE),
        (S.COMPLETE_COMMIT, ABORT, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, ABORT, E.NONE),
        (S.COMPLETE_ABORT, COMMIT, E.INVALID_TXN_STATE),
    ],
)
def test_v1_on_an_idle_id(mode, state, committed, error):
    """txn.7: Without bumps a repeated outcome succeeds, and the other one is INVALID_TXN_STATE."""
    bench = Bench(mode)
    epoch = idle(bench, state)
    assert bench.end(0, epoch, committed) == (error, -1, -1)
    assert bench.state == state


@pytest.mark.parametrize(
    ("state", "committed", "retry", "error"),
    [
        (S.EMPTY, COMMIT, False, E.INVALID_TXN_STATE),
        (S.EMPTY, COMMIT, True, E.PRODUCER_FENCED),
        (S.EMPTY, ABORT, True, E.PRODUCER_FENCED),
        (S.COMPLETE_COMMIT, COMMIT, False, E.INVALID_TXN_STATE),
        (S.COMPLETE_COMMIT, COMMIT, True, E.NONE),
        (S.COMPLETE_COMMIT, ABORT, True, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, COMMIT, False, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, COMMIT, True, E.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, ABORT, True, E.NONE),
    ],
)
def test_v2_on_an_idle_id(state, committed, retry, error):
    """txn.7: In v2 only the epoch just ended may ask again, and gets the pair that replaced it."""
    bench = Bench(V2)
    epoch = idle(bench, state)
    if state == S.EMPTY:
        epoch = bench.init()[2]  # so that there is an epoch before
    reported = bench.end(0, epoch - retry, committed)
    assert reported == ((0, 0, epoch) if error == 0 else (error, -1, -1))
    assert bench.state == state


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_v2_aborts_what_was_never_written(state):
    """txn.9: An abort with the current epoch ends even an empty transaction, and bumps the epoch."""
    bench = Bench(V2)
    epoch = idle(bench, state)
    assert bench.end(0, epoch, ABORT) == (0, 0, epoch + 1)
    assert bench.state == S.COMPLETE_ABORT
    assert not bench.flying("marker")


@pytest.mark.parametrize("table", [V1_RESULT, V2_RESULT])
def test_tables_are_complete(table):
    """txn.7: The tables have every current state, for commit and abort (and retry)."""
    states = {key[0] for key in table}
    assert states == set(range(6))
    assert len(table) == 6 * 2 * (2 if table is V2_RESULT else 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_open_transaction_ends(mode, committed):
    """txn.8: EndTxn is answered when the Prepare record is durable, before any marker is written."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0, 1)
    number = bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, committed))
    bench.flow()
    assert number not in bench.answers
    bench.system.log_append()
    bench.flow("end_answer")
    assert bench.answers[number] == ((0, 0, 1) if mode == V2 else (0, -1, -1))
    assert bench.state == (S.PREPARE_COMMIT if committed else S.PREPARE_ABORT)
    bench.settle()
    assert bench.state == (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT)
    (marker,) = bench.events("marker_appended")
    assert (marker.partition, marker.epoch, marker.outcome) == (1, int(mode == V2), int(committed))


@pytest.mark.parametrize("mode", MODES)
def test_every_end_bumps_in_v2_only(mode):
    """txn.9: In v2 each of three transactions has its own epoch, and before v2 all have the same."""
    bench = Bench(mode)
    bench.init()
    epochs = [0]
    for committed in (COMMIT, ABORT, COMMIT):
        bench.add(0, epochs[-1])
        bench.end(0, epochs[-1], committed)
        epochs.append(bench.metadata.now.producer_epoch)
    assert epochs == ([0, 1, 2, 3] if mode == V2 else [0, 0, 0, 0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", [COMMIT, ABORT])
def test_outcome_is_final(mode, first):
    """txn.8: Once the outcome is decided, the other one is refused."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0)
    bench.end(0, 0, first)
    state = bench.state
    assert bench.end(0, 0, not first)[0] == E.INVALID_TXN_STATE
    assert bench.state == state


@pytest.mark.parametrize("mode", MODES)
def test_exact_pair_or_nothing(mode):
    """txn.7: A wrong producer id is 49, an epoch too low or too high is 90, an unknown or missing id is 49 or 42."""
    bench = Bench(mode)
    assert bench.end(0, 0)[0] == E.INVALID_PRODUCER_ID_MAPPING
    assert bench.end(0, 0, txn_id=-1)[0] == E.INVALID_REQUEST
    for _ in range(3):
        bench.init()
    bench.add(0, 2)
    assert bench.end(8, 2)[0] == E.INVALID_PRODUCER_ID_MAPPING
    assert bench.end(0, 0)[0] == E.PRODUCER_FENCED
    assert bench.end(0, 3)[0] == E.PRODUCER_FENCED
    assert bench.state == S.ONGOING


def test_retry_is_fenced_while_the_next_transaction_is_open():
    """txn.7: A late EndTxn of the previous transaction cannot decide the open one (KAFKA-17754)."""
    bench = Bench(V2)
    bench.init()
    bench.add(0, 0)
    bench.end(0, 0)
    bench.add(0, 1)
    assert bench.end(0, 0)[0] == E.PRODUCER_FENCED
    assert bench.state == S.ONGOING


def test_late_end_decides_the_next_transaction_in_v1():
    """txn.9: Without the bump a late copy of EndTxn commits the next transaction (KAFKA-17754)."""
    bench = Bench(V1)
    bench.init()
    for _ in range(2):
        bench.add(0, 0)
        assert bench.end(0, 0)[0] == 0
    assert bench.state == S.COMPLETE_COMMIT


def test_pending_completion_answers_51_before_the_epoch():
    """txn.5: While the Complete record is being written the new pair gets CONCURRENT_TRANSACTIONS."""
    bench = Bench(V2)
    bench.init()
    bench.add(0, 0)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, COMMIT))
    bench.flow()
    bench.system.log_append()
    bench.flow()
    for pair, committed in (((0, 1), ABORT), ((0, 0), COMMIT)):
        number = bench.send("end", "coordinator", EndTxnRequest(0, *pair, committed))
        bench.flow()
        assert bench.answers[number].error_code == E.CONCURRENT_TRANSACTIONS


def test_exhausted_epoch_moves_to_the_next_producer_id():
    """txn.4: In v2 the last epoch is followed by the next producer id, and the markers use the reserved epoch."""
    bench = Bench(V2, max_epoch=2)
    bench.init()
    bench.init()
    bench.add(0, 1)
    number = bench.send("end", "coordinator", EndTxnRequest(0, 0, 1, COMMIT))
    bench.flow()
    bench.system.log_append()
    bench.flow("end_answer")
    assert bench.answers[number] == (0, 1, 0)
    assert (bench.metadata.now.producer_epoch, bench.metadata.now.next_producer_id) == (2, 1)
    bench.settle()
    assert [event.epoch for event in bench.events("marker_appended")] == [2]
    now = bench.metadata.now
    assert (now.producer_id, now.producer_epoch, now.previous_producer_id, now.next_producer_id) == (1, 0, 0, -1)
    assert bench.end(0, 1, COMMIT) == (0, 1, 0), "the retry names the pair before the overflow"
    assert bench.end(0, 1, ABORT)[0] == E.INVALID_TXN_STATE


def test_new_pair_waits_for_the_overflow_to_complete():
    """txn.5: Before the next producer id is the current one, a request with it gets 51 and not 49 (KAFKA-18660)."""
    bench = Bench(V2, max_epoch=1)
    bench.init()
    bench.add(0, 0)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, COMMIT))
    bench.flow()
    bench.system.log_append()
    bench.flow("end_answer")
    assert bench.add(1, 0) == E.CONCURRENT_TRANSACTIONS
    assert bench.add(1, 0) == 0


def test_fence_on_the_last_epoch_leaves_no_way_to_it():
    """txn.4: A time-out at the last epoch changes the producer id, and a late abort never gets the reserved epoch."""
    bench = Bench(V2, max_epoch=2)
    bench.init()
    bench.init()
    bench.add(0, 1)
    bench.system.advance(80_000)
    bench.settle()
    assert bench.metadata.now[1:3] == (1, 0)
    assert bench.end(0, 1, COMMIT)[0] == E.INVALID_TXN_STATE
    assert bench.end(0, 1, ABORT) == (0, 1, 0)
    assert bench.init() == (0, 1, 1)


@pytest.mark.parametrize("mode", MODES)
def test_failed_prepare_leaves_the_transaction_open(mode):
    """txn.8: If the Prepare record is not durable nothing is decided, and the other outcome is still possible."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0)
    number = bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, COMMIT))
    bench.flow()
    bench.system.log_append(ok=False)
    bench.flow()
    assert bench.answers[number].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert (bench.state, bench.metadata.now.producer_epoch) == (S.ONGOING, 0)
    assert bench.end(0, 0, ABORT)[0] == 0
    assert bench.state == S.COMPLETE_ABORT


@pytest.mark.parametrize(("mode", "final"), [(V1, 1), (VERIFIED, 1), (V2, 2)])
def test_timeout_fences_and_aborts(mode, final):
    """txn.18: The first check after the time-out bumps the epoch and aborts, and the producer's commit is fenced."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0)
    bench.system.advance(60_000)
    bench.settle()
    assert bench.state == S.ONGOING, "exactly the time-out is not longer than the time-out"
    bench.system.advance(10_000)
    bench.settle()
    (timed_out,) = bench.events("timed_out")
    assert timed_out.epoch == 0
    assert (bench.state, bench.metadata.now.producer_epoch) == (S.COMPLETE_ABORT, final)
    assert bench.end(0, 0, COMMIT)[0] == E.PRODUCER_FENCED
    assert bench.end(0, 0, ABORT)[0] == E.PRODUCER_FENCED


def test_timeout_waits_while_something_is_pending():
    """txn.18: A transaction whose commit is pending does not time out."""
    bench = Bench(V2)
    bench.init()
    bench.add(0, 0)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, COMMIT))
    bench.flow()
    bench.system.advance(100_000)
    assert not bench.events("timed_out")
    bench.settle()
    assert bench.state == S.COMPLETE_COMMIT


def test_failed_timeout_is_tried_again():
    """txn.18: If the abort of a timed-out transaction is not recorded, the next check retries without a bump."""
    bench = Bench(V1)
    bench.init()
    bench.add(0, 0)
    bench.system.advance(70_000)
    bench.system.log_append(ok=False)
    bench.system.advance(10_000)
    bench.settle()
    assert [event.epoch for event in bench.events("timed_out")] == [0, 1]
    assert (bench.state, bench.metadata.now.producer_epoch) == (S.COMPLETE_ABORT, 1)
