"""After a fail-over of the coordinator the log restores its state, and what was decided is carried out."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import EndTxnRequest, InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_states import TransactionState as S
from fencepost.reference_impl.kafka.transaction_states import loaded, value_of
from hypothesis import given, settings
from hypothesis import strategies as st
from txn_bench import V1, V2, VERIFIED, Bench

MODES = (V1, VERIFIED, V2)


def ending(mode, committed=True):
    """Return a bench whose EndTxn has its Prepare record under way."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0, 0)
    bench.add(0, 0, 1)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, committed))
    bench.flow()
    return bench


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("committed", [True, False])
def test_new_coordinator_resends_every_marker(mode, committed):
    """txn.19: With a Prepare record in the log the new coordinator sends all markers again, and completes."""
    bench = ending(mode, committed)
    bench.system.log_append()
    bench.system.deliver(bench.flying("marker")[0])
    for number in bench.flying("marker") + bench.flying("marker_answer"):
        bench.system.drop(number)
    bench.events()
    bench.system.fail_over()
    bench.settle()
    events = bench.events("coordinator_loaded", "marker_appended")
    assert [(e.kind, e.coordinator_epoch) for e in events] == [
        ("coordinator_loaded", 1), ("marker_appended", 1), ("marker_appended", 1),
    ]  # fmt: skip
    assert [e.partition for e in events[1:]] == [0, 1]
    assert bench.state == (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT)


@pytest.mark.parametrize("mode", MODES)
def test_unfinished_prepare_decides_only_if_durable(mode):
    """txn.8: A Prepare record that is lost with its coordinator decides nothing, and one in the log is the outcome."""
    lost, kept = ending(mode), ending(mode)
    lost.system.fail_over(durable=False)
    assert (lost.state, lost.metadata.now.topic_partitions) == (S.ONGOING, {0, 1})
    assert lost.end(0, 0, False)[0] == 0
    kept.system.fail_over(durable=True)
    kept.settle()
    assert kept.end(0, 0, False)[0] == E.INVALID_TXN_STATE
    assert kept.state == S.COMPLETE_COMMIT


def test_durable_record_is_reported_though_nobody_was_told():
    """txn.19: A durable append is an event of the old coordinator, before the new one loads."""
    bench = ending(V2)
    bench.events()
    bench.system.fail_over(durable=True)
    events = bench.events("txn_logged", "coordinator_loaded", "end_handled")
    assert [(e.kind, e.coordinator_epoch) for e in events] == [("txn_logged", 0), ("coordinator_loaded", 1)]


def test_markers_of_the_old_coordinator_come_too_late():
    """txn.11: Once the new coordinator's marker is written, the old one's is refused with 52."""
    bench = ending(V1)
    bench.system.log_append()
    late = bench.flying("marker")
    bench.system.fail_over()
    for number in bench.flying("marker")[2:]:
        bench.system.deliver(number)
    for number in late:
        bench.system.deliver(number)
    assert [event.error for event in bench.events("marker_refused")] == [E.TRANSACTION_COORDINATOR_FENCED] * 2
    bench.settle()
    assert bench.state == S.COMPLETE_COMMIT


def test_answers_to_the_old_coordinator_do_not_count():
    """txn.19: The new coordinator ignores the answer to a marker that the old one sent."""
    bench = ending(V2)
    bench.system.log_append()
    bench.flow("marker")
    bench.system.fail_over()
    bench.events()
    for number in bench.flying("marker_answer"):
        bench.system.deliver(number)
    assert not bench.events("marker_acked")


def test_pending_transition_is_forgotten():
    """txn.19: A transition that was pending at the old coordinator does not block the new one."""
    bench = Bench()
    bench.init()
    bench.send("init", "coordinator", InitProducerIdRequest(0, 60_000))
    bench.flow()
    bench.system.fail_over(durable=False)
    assert bench.init() == (0, 0, 1)


def test_last_epoch_is_forgotten():
    """txn.2: The epoch before the bump is not recorded, so that a retry across a fail-over is fenced, as in Kafka."""
    bench = Bench()
    bench.init()
    bench.init(0, 0)
    bench.system.fail_over()
    assert bench.init(0, 0) == (E.PRODUCER_FENCED, -1, -1)


def test_failed_fence_is_forgotten():
    """txn.18: A fence that never became durable is lost with its coordinator, and made anew by the next."""
    bench = Bench(V1)
    bench.init()
    bench.add(0, 0)
    bench.send("init", "coordinator", InitProducerIdRequest(0, 60_000))
    bench.flow()
    bench.system.log_append(ok=False)
    bench.system.fail_over()
    assert (bench.metadata.now.producer_epoch, bench.metadata.has_failed_epoch_fence) == (0, False)
    bench.init()
    assert bench.metadata.now.producer_epoch == 1


def test_overflow_survives_a_fail_over():
    """txn.4: The next producer id is in the Prepare record, and another coordinator answers with it."""
    bench = Bench(V2, max_epoch=1)
    bench.init()
    bench.add(0, 0)
    number = bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, True))
    bench.flow()
    bench.system.log_append()
    bench.flow("end_answer")
    bench.system.fail_over()
    bench.settle()
    assert bench.answers[number] == (0, 1, 0)
    assert bench.end(0, 0) == (0, 1, 0)


def test_timeout_goes_on_after_a_fail_over():
    """txn.18: The new coordinator times the transaction out by its recorded start."""
    bench = Bench(V1)
    bench.init()
    bench.add(0, 0)
    bench.system.advance(50_000)
    bench.system.fail_over()
    bench.system.advance(20_000)
    bench.settle()
    assert bench.state == S.COMPLETE_ABORT


def test_loading_coordinator_answers_14():
    """txn.19: Until the log is loaded every request gets COORDINATOR_LOAD_IN_PROGRESS."""
    bench = Bench()
    bench.system.coordinator.loading = True
    assert bench.init()[0] == bench.end(0, 0)[0] == E.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.add(0, 0) == bench.verify(0, 0) == E.COORDINATOR_LOAD_IN_PROGRESS


def test_unfinished_tombstone_forgets_the_id_if_durable():
    """txn.20: An expiry under way at a fail-over has happened if its tombstone is in the log."""
    for durable, known in ((True, 0), (False, 1)):
        bench = Bench()
        bench.init()
        bench.system.advance(8 * 24 * 3600 * 1000)
        bench.system.fail_over(durable=durable)
        assert len(bench.system.coordinator.transactions) == known
        assert len(bench.events("id_expired")) == durable


def rebuilt(bench):
    """Return what a coordinator would load from the log now."""
    return {txn_id: loaded(value) for txn_id, value in bench.system.transaction_log.replay().items()}


def live(bench):
    """Return what the coordinator has in memory, without what is never recorded."""
    transactions = bench.system.coordinator.transactions.values()
    return {m.transactional_id: loaded(value_of(m.now)) for m in transactions if m.now.producer_epoch >= 0}


STEPS = st.one_of(
    st.tuples(st.just("init"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("add"), st.integers(0, 1), st.integers(0, 2)),
    st.tuples(st.sampled_from(["end", "prepare"]), st.integers(0, 1), st.booleans()),
    st.tuples(st.sampled_from(["advance", "compact", "fail_over"]), st.integers(0, 2), st.booleans()),
)


@settings(max_examples=60)
@given(mode=st.sampled_from(MODES), steps=st.lists(STEPS, max_size=25))
def test_rebuilt_state_equals_the_live_one(mode, steps):
    """txn.P9: After every operation the log, compacted or not, equals what the coordinator has in memory."""
    bench = Bench(mode, max_epoch=3, expiration_ms=300_000, expiration_check_ms=60_000)
    for what, number, flag in steps:
        known = bench.system.coordinator.transactions.get(number)
        pair = known.now[1:3] if known else (-1, -1)
        if what == "init":
            bench.init(*(pair if flag else (-1, -1)), txn_id=number)
        elif what == "add":
            bench.add(*pair, partition=flag, txn_id=number)
        elif what == "end":
            bench.end(*pair, committed=flag, txn_id=number)
        elif what == "prepare":
            bench.send("end", "coordinator", EndTxnRequest(number, *pair, flag))
            bench.flow("end")
            bench.system.log_append()
        elif what == "compact":
            bench.system.transaction_log.compact()
        elif what == "fail_over":
            bench.system.fail_over()
            bench.settle()
        else:
            bench.system.advance((1_000, 80_000, 400_000)[number])
            bench.settle()
        assert rebuilt(bench) == live(bench)
        now = bench.system.coordinator.transactions
        assert all(m.now.producer_epoch <= 3 for m in now.values())


def test_compaction_keeps_the_last_record_of_each_id():
    """txn.P9: Compaction drops older records and tombstones, and nothing that replay would see."""
    bench = Bench(V1)
    for _ in range(3):
        bench.init()
        bench.init(txn_id=1)
    before = rebuilt(bench)
    log = bench.system.transaction_log
    log.compact()
    assert (len(log.records), rebuilt(bench)) == (2, before)
    for _ in range(600):
        bench.init()
    assert len(log.records) < 300
