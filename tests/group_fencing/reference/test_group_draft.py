"""These tests check KIP-447's draft: initialising with a group, the reverse map, the two errors and the switch."""

import pytest
from fencepost.reference_impl.kafka.environment import COORDINATOR
from fencepost.reference_impl.kafka.group_environment import Place
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    GroupInitProducerIdRequest,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    InitProducerIdRequest,
    OffsetFetchRequest,
)
from fencepost.reference_impl.kafka.transaction_states import TransactionState
from group_bench import Bench

ILLEGAL_GENERATION, UNSUPPORTED, CONCURRENT, CONCURRENT_COMMIT, PENDING, LOADING = 22, 35, 51, 85, 86, 14
FENCED = 90
DRAFT, REPAIRED = "draft", "draft-repaired"
OFFSETS = 1  # the number of the offsets partition


def asked(bench, txn_id, generation, *partitions):
    """Return the answer to one InitProducerId that names the group."""
    request = GroupInitProducerIdRequest(txn_id, 60_000, generation, partitions)
    return bench.ask("init", request, COORDINATOR)


def init(bench, txn_id, generation, *partitions):
    """Return the producer id and epoch that are given in the end, and the number of repeated requests."""
    for again in range(9):
        answer = asked(bench, txn_id, generation, *partitions)
        if answer.error_code != CONCURRENT:
            assert answer.error_code == 0
            return (answer.producer_id, answer.producer_epoch), again
    raise AssertionError("asked again without end")


def begin(bench, txn_id, pair):
    request = AddPartitionsToTxnRequest(txn_id, *pair, OFFSETS)
    return bench.ask("add", request, COORDINATOR).error_code


def end(bench, txn_id, pair):
    return bench.ask("end", EndTxnRequest(txn_id, *pair, True), COORDINATOR).error_code


@pytest.mark.rule("447.1")
@pytest.mark.parametrize("mode", [DRAFT, REPAIRED])
def test_it_may_be_called_again(mode):
    """447.1: Each call gets a new producer epoch, since the call names no producer id."""
    bench = Bench(mode=mode, transactions="v1")
    (first, _), (second, _) = init(bench, 0, 1, 0, 1), init(bench, 0, 2, 0)
    assert first[0] == second[0] and second[1] == first[1] + 1
    assert begin(bench, 0, first) == FENCED
    assert begin(bench, 0, second) == 0


@pytest.mark.parametrize("mode", [DRAFT, REPAIRED])
@pytest.mark.parametrize("transactions", ["v1", "v2"])
def test_an_ongoing_transaction_on_the_partitions_is_aborted_first(mode, transactions):
    """447.2, 447.5: The ongoing transaction's producer is fenced, and the call returns when it has ended."""
    bench = Bench(mode=mode, transactions=transactions)
    zombie, _ = init(bench, 0, 1, 0, 1)
    begin(bench, 0, zombie)
    assert asked(bench, 1, 2, 1).error_code == CONCURRENT
    init(bench, 1, 2, 1)
    metadata = bench.system.brokers.coordinator.transactions[0]
    assert metadata.now.state in (TransactionState.COMPLETE_ABORT, TransactionState.EMPTY)
    assert metadata.now.producer_epoch > zombie[1]
    assert end(bench, 0, zombie) == FENCED or transactions == "v2"  # v2: it passes for who repeats its own abort


@pytest.mark.parametrize("mode", [DRAFT, REPAIRED])
def test_others_partitions_are_left_alone(mode):
    bench = Bench(mode=mode, transactions="v1")
    other, _ = init(bench, 0, 1, 0)
    begin(bench, 0, other)
    assert init(bench, 1, 1, 1)[1] == 0
    assert end(bench, 0, other) == 0


def test_who_has_no_ongoing_transaction_is_fenced_only_where_the_draft_is_repaired():
    """In the draft's text a zombie without a transaction may begin one afterwards, which is how hole H1 begins."""
    for mode, error in ((DRAFT, 0), (REPAIRED, FENCED)):
        bench = Bench(mode=mode, transactions="v1")
        zombie, _ = init(bench, 0, 1, 0)
        init(bench, 1, 2, 0)
        assert begin(bench, 0, zombie) == error


def test_an_older_generation_is_refused_only_where_the_draft_is_repaired():
    """447.19: The text of the draft does not require that the generation is checked."""
    for mode, error in ((DRAFT, 0), (REPAIRED, ILLEGAL_GENERATION)):
        bench = Bench(mode=mode)
        init(bench, 1, 2, 0)
        assert asked(bench, 0, 1, 0).error_code == error
        assert asked(bench, 2, 2, 1).error_code == 0


def test_assignments_are_reloaded():
    """447.6: The log has the assignments by group and transactional id."""
    bench = Bench(mode=REPAIRED, transactions="v1")
    zombie, _ = init(bench, 0, 1, 0)
    init(bench, 1, 1, 1)
    bench.system.fail_over()
    assert {txn_id: sorted(a.partitions) for txn_id, a in bench.system.brokers.coordinator.assignments.items()} == {
        0: [0], 1: [1],
    }  # fmt: skip
    init(bench, 2, 2, 0)
    assert begin(bench, 0, zombie) == FENCED
    bench.system.fail_over()
    assert sorted(bench.system.brokers.coordinator.assignments) == [1, 2]


def test_who_comes_while_its_predecessor_is_fenced_is_remembered():
    """When the fencing of an idle producer ends, its assignment is forgotten. A new assignment of the same
    transactional id that arrives meanwhile is retained, since it has to be fenced later (447.5, 447.6)."""
    bench = Bench(mode=REPAIRED, transactions="v1")
    init(bench, 0, 1, 0)
    numbers = []
    for txn_id, partition in ((1, 0), (0, 1)):  # the other one fences id 0, whose successor comes before that is over
        number = bench.env.next_request()
        request = GroupInitProducerIdRequest(txn_id, 60_000, 2, (partition,))
        bench.env.network.send("init", "probe", COORDINATOR, bench.body(number, request))
        bench.system.deliver(next(iter(bench.env.network.in_flight)))
        numbers.append(number)
    bench.settle()
    assert [bench.answers[number].error_code for number in numbers] == [CONCURRENT, CONCURRENT]
    successor, _ = init(bench, 0, 2, 1)
    init(bench, 1, 3, 1)
    assert begin(bench, 0, successor) == FENCED


def test_an_append_that_fails_changes_nothing():
    bench = Bench(mode=REPAIRED)
    request = GroupInitProducerIdRequest(0, 60_000, 1, (0,))
    number = bench.env.next_request()
    bench.env.network.send("init", "probe", COORDINATOR, bench.body(number, request))
    bench.system.deliver(next(iter(bench.env.network.in_flight)))
    assert asked_while_writing(bench) == CONCURRENT
    bench.system.log_append(ok=False)
    bench.settle()
    assert bench.answers[number].error_code == 15
    assert bench.system.brokers.coordinator.assignments == {}


def asked_while_writing(bench):
    """Return the answer to another member while an assignment is being appended to the log."""
    number = bench.env.next_request()
    bench.env.network.send(
        "init", "probe", COORDINATOR, bench.body(number, GroupInitProducerIdRequest(1, 60_000, 1, (1,)))
    )
    for message in list(bench.env.network.in_flight):
        bench.system.deliver(message)
    for message in list(bench.env.network.in_flight):
        bench.system.deliver(message)
    return bench.answers[number].error_code


def commit(bench, producer_id, generation, partition=0):
    """Return the error of a commit, and note the commit if it is accepted."""
    record = 1_000 + len(bench.env.contents)
    bench.env.contents[record] = Place(partition, 1)
    metadata = GroupMetadata(generation)
    request = GroupTxnOffsetCommitRequest(0, 0, producer_id, 0, record, (), metadata, 6 if generation >= 0 else 2)
    error = bench.coordinator.commit_refused(request)
    if not error:
        bench.coordinator.taken(request)
    return error


@pytest.mark.rule("447.7")
@pytest.mark.parametrize("mode", [DRAFT, REPAIRED])
def test_the_reverse_map(mode):
    """447.8: Another producer is refused if its generation is smaller or missing, but not if it is equal (H2)."""
    bench = Bench(mode=mode)
    assert commit(bench, 1, 3) == 0
    assert commit(bench, 2, 2) == CONCURRENT_COMMIT
    assert commit(bench, 2, -1) == CONCURRENT_COMMIT
    assert commit(bench, 1, 2) == 0
    assert commit(bench, 2, 3) == 0
    assert commit(bench, 1, 2) == CONCURRENT_COMMIT
    bench.system.move_group()
    assert commit(bench, 1, 2) == CONCURRENT_COMMIT
    assert commit(bench, 5, 0, partition=1) == 0


def test_old_clients_pass_the_reverse_map_by_their_common_producer_id():
    """A commit without a generation is refused after another producer's. Old clients pass because they have one
    transactional id, and so one producer id, for each input partition."""
    bench = Bench(mode=DRAFT)
    assert [commit(bench, producer, -1) for producer in (1, 2, 1)] == [0, CONCURRENT_COMMIT, 0]


def test_the_current_generation_where_the_draft_is_repaired_so():
    bench = Bench(mode=REPAIRED, repair="generation")
    bench.alone()
    assert commit(bench, 1, 1) == 0
    assert commit(bench, 2, 0, partition=1) == ILLEGAL_GENERATION
    assert commit(bench, 2, 2, partition=1) == ILLEGAL_GENERATION
    assert commit(bench, 2, -1, partition=1) == 0


@pytest.mark.parametrize(("mode", "new", "old"), [(DRAFT, PENDING, LOADING), ("shipped", 88, 0)])
def test_a_fetch_waits_for_what_is_pending(mode, new, old):
    """447.9: In the draft an old client gets an error that it knows and waits. As shipped it does not wait at all."""
    bench = Bench(mode=mode, inputs=2)
    bench.coordinator.log.pending[7] = {0: bench}
    for stable, error in ((True, new), (False, old)):
        answer = bench.ask("offset_fetch", OffsetFetchRequest(GroupMetadata(), (0, 1), stable))
        assert answer.offsets == ((error, -1), (0, -1))


@pytest.mark.rule("447.4")
def test_without_a_group_it_is_as_ever():
    """447.4: An InitProducerId without a group, as old clients send it, fences only its own transactional id."""
    bench = Bench(mode=DRAFT, transactions="v1")
    other, _ = init(bench, 0, 1, 0)
    begin(bench, 0, other)
    old = bench.ask("init", InitProducerIdRequest(1, 60_000), COORDINATOR)
    assert old.error_code == 0
    again = bench.ask("init", InitProducerIdRequest(1, 60_000), COORDINATOR)
    assert (again.producer_id, again.producer_epoch) == (old.producer_id, old.producer_epoch + 1)
    assert end(bench, 0, other) == 0


@pytest.mark.rule("447.11")
def test_older_brokers_know_none_of_it():
    """447.11: Older brokers know neither the group in InitProducerId nor the generation in TxnOffsetCommit."""
    bench = Bench(mode=DRAFT, old_brokers=True)
    assert asked(bench, 0, 1, 0).error_code == UNSUPPORTED
    request = GroupTxnOffsetCommitRequest(0, 0, 0, 0, 0, (), GroupMetadata(1), 3)
    assert bench.ask("produce", request).error_code == UNSUPPORTED
