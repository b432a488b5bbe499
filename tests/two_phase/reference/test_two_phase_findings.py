"""These runs break a promise of two-phase commit although every part does as the KIP, trunk or PR 21735 has it."""

import pytest
import two_phase_scenarios as runs
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.two_phase.client import prepared_pair, prepared_text
from fencepost.reference_impl.systems.two_phase import reference
from two_phase_scenarios import violated


@pytest.fixture
def system():
    return reference(runs.TWO)


def broken(system, *but):
    return violated([system.env.log.rows]).keys() - {"decided_is_ended", *but}


def errors(system, kind):
    return [event.error for event in system.drain_events() if event.kind == kind]


def test_downgrade_revives_the_former_owner(system):
    """Trunk does not read the second epoch: after a downgrade the transaction's own pair, which a fenced instance has,
    ends it, and the pair of its owner is refused."""
    runs.decided(system)
    runs.ready(system, 1)
    system.downgrade()
    runs.completed(system, 0)
    runs.completed(system, 1)
    assert broken(system) == {"last_owner_alone"}
    assert [system.is_over(slot) for slot in (0, 1)] == [False, True]


def test_downgrade_while_preparing_resets_the_epoch(system):
    """Trunk takes a second id for that of a rotation: the transaction is completed at epoch 0 of the same id
    (TransactionMetadata.prepareComplete), and what the next producer writes is refused with 47."""
    runs.ready(system)
    for _ in range(3):
        runs.written(system)
        system.commit(0)
        system.settle()
    runs.written(system)
    system.restart_client(0)
    runs.ready(system)
    system.complete(0)
    runs.deliver(system, "end")
    system.downgrade()
    system.settle()
    assert system.describe(0)[1:3] == (0, 0)
    system.restart_client(0)
    runs.ready(system, keep=False)
    system.drain_events()
    runs.written(system)
    assert errors(system, "batch_refused") == [47]


def test_late_copy_of_an_init_without_keep_aborts_what_is_decided(system):
    """No operator wants it: InitProducerId without keepPreparedTxn arrives again when the transaction is decided."""
    system.init(0, keep=False)
    late = system.messages()[0][0]
    system.deliver(late, keep=True)
    runs.settle_but(system, late)
    runs.written_but(system, late)
    system.prepare(0)
    assert system.decide(0, True)
    system.settle()
    ended = [(e.kind, e.outcome) for e in system.drain_events() if e.kind in ("decision_written", "txn_ended")]
    assert ended == [("decision_written", 1), ("txn_ended", 0)]


def test_any_writer_aborts_what_is_decided(system):
    """TWO_PHASE_COMMIT is not asked of an InitProducerId without enable2Pc, which aborts a prepared transaction."""
    runs.decided(system)
    system.env.without_2pc.add(0)
    system.init(1, keep=False, two_phase=False)
    system.settle()
    ended = [e.outcome for e in system.drain_events() if e.kind == "txn_ended"]
    assert ended == [0]


def test_recovery_cannot_tell_committed_from_terminated(system):
    """After the forced end of a decided transaction a new instance is ready, as after its commit (PR 20039's "final
    solution"), and completeTransaction() has nothing to refuse: Kafka's throws in both cases."""
    found = []
    for ends in (runs.completed, lambda s: (s.force_terminate(0), s.settle(), s.advance(100), s.settle())):
        other = reference(runs.TWO)
        runs.decided(other)
        ends(other)
        other.restart_client(0)
        runs.ready(other)
        found.append((other.producers[0].state, other.prepared_state(0), other.complete(0), other.read(0, 0)))
    assert found == [(State.READY, "", False, [(0, 0)]), (State.READY, "", False, [])]


def test_state_of_an_empty_transaction_is_that_of_the_next():
    """Kafka's producer sends no EndTxn where nothing was written, so that the pair is not bumped: the decision of the
    empty transaction commits the next one, which is not prepared."""
    system = reference({**runs.TWO, "mode": "empty-prepared"})
    runs.empty_before(system)
    assert broken(system) == {"committed_as_decided"}
    assert system.read(0, 0) == [(0, 0)]


def test_store_without_a_guard_takes_the_decision_of_a_former_owner():
    """The KIP's recipe has no guard: prepareTransaction() asks no broker, so that a fenced instance prepares, and its
    store takes the decision to commit what was aborted."""
    system = reference({**runs.TWO, "mode": "older-writer"})
    runs.paused(system)
    assert broken(system) == {"not_decided_when_over"}


def test_committing_what_lingers_counts_records_of_a_fenced_producer(system):
    """A retained transaction takes records of its former owner under its own pair. completeTransaction() aborts it,
    since such an owner cannot have prepared it; a commitTransaction() of whatever lingers makes them count."""
    for ends in (system.complete, system.commit):
        runs.ready(system)
        runs.written(system)
        runs.ready(system, 1)
        system.send(0, 0)
        system.settle()
        ends(1)
        system.settle()
        system.read(0, 0)
        for slot in (0, 1):
            system.restart_client(slot)
    assert broken(system) == {"nothing_after_the_decision_was_read"}
    assert len([e for e in system.drain_events() if e.kind == "record_read"]) == 2


def test_prepared_states_are_texts():
    """PreparedTxnState: the producer id and the epoch, or empty."""
    assert (prepared_text((4, 7)), prepared_pair("4:7"), prepared_pair("")) == ("4:7", (4, 7), (-1, -1))
    for text in ("4", "4:", ":7", "4:-1", "4:7:1", "a:b"):
        with pytest.raises(ValueError, match="is no prepared state"):
            prepared_pair(text)
