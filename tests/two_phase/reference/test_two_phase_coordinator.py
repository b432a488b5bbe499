"""These tests check what InitProducerId, EndTxn and the requests of operators are answered under KIP-939."""

import pytest
import two_phase_scenarios as runs
from fencepost.reference_impl.defects.two_phase import REGISTRY
from fencepost.reference_impl.kafka.messages import (
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdRequestV6,
    ProduceRequest,
    RequestBody,
)
from fencepost.reference_impl.kafka.transaction_states import TransactionState
from fencepost.reference_impl.kafka.two_phase.environment import NO_TIMEOUT_MS
from fencepost.reference_impl.systems.two_phase import reference


class Probe:
    """A `Probe` asks the coordinator by hand."""

    def __init__(self, system):
        self.system, self.answers = system, []
        system.env.network.nodes["probe"] = self

    def arrive(self, message):
        self.answers.append(message.body.data)

    def ask(self, kind, request, of="coordinator"):
        self.answers.clear()
        self.system.env.network.send(kind, "probe", of, RequestBody(self.system.env.next_request(), request))
        self.system.settle()
        return tuple(self.answers[0])

    def init(self, *pair, timeout_ms=60_000, **flags):
        return self.ask("init", InitProducerIdRequestV6(0, timeout_ms, *pair, **flags))

    def write(self, epoch, partition):
        return self.ask("produce", ProduceRequest(0, partition, 0, epoch, 0, 99), f"partition-{partition}")[0]

    def end(self, producer_id, epoch, committed=True):
        return self.ask("end", EndTxnRequest(0, producer_id, epoch, committed))


KEEP = {"enable_2pc": True, "keep_prepared_txn": True}


@pytest.fixture
def opened():
    """Return a system with an open transaction (0, 0) of its first instance, and a probe."""
    system = reference(runs.TWO)
    runs.ready(system)
    runs.written(system)
    return system, Probe(system)


@pytest.mark.parametrize("made", [{"two_phase_commit_enable": False}, {}], ids=["broker", "acl"])
def test_two_phase_commit_has_to_be_allowed(made):
    """939.9: Without the broker's setting, or TWO_PHASE_COMMIT on the id, the answer is 53 in both cases."""
    for factory, error in ((reference, 53), (REGISTRY.interface["enabled_everywhere"], 0)):
        system = factory({**runs.TWO, **made})
        system.env.without_2pc.update(() if made else {0})
        assert Probe(system).init(enable_2pc=True)[0] == error
        assert Probe(system).init()[0] == 0


def test_time_out_is_not_limited_for_two_phase_commit(opened):
    """939.1: transaction.max.timeout.ms does not limit two-phase commit, whose recorded time-out is without end."""
    system, probe = opened
    assert system.describe(0).transaction_timeout_ms == NO_TIMEOUT_MS
    assert probe.init(timeout_ms=NO_TIMEOUT_MS)[0] == 50
    assert probe.init(timeout_ms=NO_TIMEOUT_MS, **KEEP)[0] == 0


def test_id_is_used_with_and_without_in_turn():
    """939.1: An InitProducerId that meets no open transaction decides alone whether there is a time-out."""
    system = reference(runs.TWO)
    found = []
    for two_phase in (True, False, True):
        system.restart_client(0)
        runs.ready(system, two_phase=two_phase)
        found.append(system.describe(0).transaction_timeout_ms)
    assert found == [NO_TIMEOUT_MS, 60_000, NO_TIMEOUT_MS]


def test_each_keep_bumps_the_client_and_not_the_transaction(opened):
    """939.2, 939.3: KIP: "ProducerId and ProducerEpoch of the ongoing transaction always stay the same, but the
    NextProducerEpoch is always incremented"."""
    _, probe = opened
    assert [probe.init(**KEEP) for _ in range(3)] == [(0, 0, epoch, 0, 0) for epoch in (1, 2, 3)]


def test_keep_without_an_open_transaction_is_an_ordinary_one():
    """939.17: KIP: the ongoing pair "can be set to -1 if there is no ongoing transaction". PR 21735's test
    shouldRejectKeepPreparedTxnWithoutOngoingTransaction wants an error; it does not enable two-phase commit, so that it
    gets one anyway."""
    probe = Probe(reference(runs.TWO))
    assert [probe.init(**KEEP) for _ in range(2)] == [(0, 0, 0, -1, -1), (0, 0, 1, -1, -1)]


def test_keep_without_two_phase_commit_is_allowed(opened):
    """939.10: KIP: "KeepPreparedTxn could be set to true even if Enable2Pc is false"; PR 22704 answers 42."""
    assert opened[1].init(keep_prepared_txn=True) == (0, 0, 1, 0, 0)


def test_keep_with_an_expected_pair_is_invalid(opened):
    """939.2: shouldRejectKeepPreparedTxnWithExpectedEpoch."""
    assert opened[1].init(0, 0, **KEEP)[0] == 42
    system = REGISTRY.interface["keeps_with_expected_pair"](runs.TWO)
    assert Probe(system).init(0, 0, **KEEP)[0] == 0


def test_only_the_pair_of_the_client_ends(opened):
    """939.5, 939.6, 939.18: shouldValidateEpochsCorrectlyWithDualIdentity, shouldCompletePreparedTransactionWith…:
    markers at the own epoch and one, the next transaction at the client's epoch and one, and a repeated end alike."""
    system, probe = opened
    probe.init(**KEEP)
    probe.init(**KEEP)
    assert [probe.end(0, epoch)[0] for epoch in (0, 1, 3)] == [90, 90, 90]
    system.drain_events()
    assert probe.end(0, 2) == (0, 0, 3)
    markers = [event.epoch for event in system.drain_events() if event.kind == "marker_appended"]
    assert (markers, system.describe(0)[:3]) == ([1], (TransactionState.COMPLETE_COMMIT, 0, 3))
    assert probe.end(0, 2) == (0, 0, 3)
    assert probe.end(0, 2, committed=False)[0] == 48


@pytest.mark.parametrize("committed", [True, False])
def test_everything_waits_while_an_end_is_prepared(opened, committed):
    """939.7, 939.8: shouldHandleConcurrentTransactionsInPrepareStatesTV2: 51 to each end, and to InitProducerId."""
    system, probe = opened
    probe.init(**KEEP)
    number = system.env.next_request()
    system.env.network.send("end", "probe", "coordinator", RequestBody(number, EndTxnRequest(0, 0, 1, committed)))
    runs.deliver(system, "end")
    system.log_append()
    marker = next(m[0] for m in system.messages() if m[1] == "marker")
    system.drop(marker)
    system.settle()
    found = [probe.end(0, epoch, to)[0] for epoch in (0, 1, 2) for to in (True, False)]
    assert (found, probe.init(**KEEP)[0], probe.init()[0]) == ([51] * 6, 51, 51)


@pytest.mark.parametrize(("keeps", "client"), [(1, (0, 1)), (2, (0, 2)), (3, (1, 0)), (4, (1, 1)), (6, (2, 0))])
def test_exhausted_epochs_of_the_client_rotate_its_id(keeps, client):
    """939.3: shouldHandleMultipleProducerIdRotationsForOngoingTxn: the transaction's own pair remains."""
    system = reference({**runs.TWO, "max_epoch": 3})
    runs.ready(system)
    runs.written(system)
    probe = Probe(system)
    for _ in range(keeps):
        answer = probe.init(**KEEP)
    assert answer == (0, *client, 0, 0)
    error, producer_id, epoch = probe.end(*client)
    rotates = client[1] == 2
    assert (error, producer_id, epoch) == (0, client[0] + rotates, 0 if rotates else client[1] + 1)
    assert probe.end(*client) == (0, producer_id, epoch)


def test_both_pairs_survive_fail_overs(opened):
    """939.3: A coordinator that takes over has both pairs, while ongoing and while preparing."""
    system, probe = opened
    probe.init(**KEEP)
    system.fail_over()
    assert probe.init(**KEEP) == (0, 0, 2, 0, 0)
    system.env.network.send("end", "probe", "coordinator", RequestBody(99, EndTxnRequest(0, 0, 2, True)))
    runs.deliver(system, "end")
    system.fail_over()
    system.settle()
    assert system.describe(0)[:3] == (TransactionState.COMPLETE_COMMIT, 0, 3)


@pytest.mark.rule("939.21")
def test_operators_find_and_end_what_is_open(opened):
    """KIP: ListTransactions has those that run for longer, and the forced end is an ordinary InitProducerId, of which
    TWO_PHASE_COMMIT is not asked."""
    system, _ = opened
    system.env.without_2pc.add(0)
    assert system.list_transactions(60_000) == []
    system.advance(75_000)
    assert system.list_transactions(60_000) == [(0, TransactionState.ONGOING, 0)]
    assert system.describe(0)[:3] == (TransactionState.ONGOING, 0, 0)
    system.force_terminate(0)
    system.settle()
    system.advance(100)
    system.settle()
    assert system.list_transactions() == [(0, TransactionState.EMPTY, 0)]
    assert system.list_transactions(0) == []


def test_trunk_refuses_to_keep():
    """Trunk answers 35 (UNSUPPORTED_VERSION) to keepPreparedTxn, and has the rest."""
    system = reference({**runs.TWO, "mode": "not-retained"})
    probe = Probe(system)
    assert (probe.init(**KEEP)[0], probe.init(enable_2pc=True)[0]) == (35, 0)
    assert system.upgrade()
    assert probe.init(**KEEP)[0] == 0


def test_admins_send_the_older_version(opened):
    """forceTerminateTransaction is fenceProducers, which has no flags: what is open is aborted, first with 51."""
    _, probe = opened
    answers = [probe.ask("init", InitProducerIdRequest(0, 30_000))[0] for _ in range(2)]
    assert answers == [51, 0]


@pytest.mark.rule("939.19")
@pytest.mark.parametrize(("keep", "two_phase"), [(True, True), (True, False), (False, True), (False, False)])
def test_version_6_has_two_flags(keep, two_phase):
    """Both are as initTransactions() and the producer's configuration have them."""
    system = reference(runs.TWO)
    coordinator = Probe(system)
    system.env.network.nodes["coordinator"] = coordinator
    system.init(0, keep=keep, two_phase=two_phase)
    system.settle()
    asked = coordinator.answers[0]
    assert (asked.enable_2pc, asked.keep_prepared_txn) == (two_phase, keep)


@pytest.mark.rule("939.19")
def test_version_6_answers_with_two_pairs(opened):
    """The pair of the open transaction is -1, -1 where it is not retained, and where the answer is an error."""
    _, probe = opened
    assert probe.init(**KEEP) == (0, 0, 1, 0, 0)
    assert [probe.init() for _ in range(2)] == [(51, -1, -1, -1, -1), (0, 0, 3, -1, -1)]
    assert probe.init(**KEEP) == (0, 0, 4, -1, -1)


@pytest.mark.rule("939.20")
def test_records_of_a_retained_transaction_have_its_own_pair():
    """shouldValidateEpochsCorrectlyWithDualIdentity: the leader of another partition asks the coordinator, and that
    answers 48 to the client's pair."""
    system = reference({**runs.TWO, "partitions": 2})
    runs.ready(system)
    runs.written(system)
    probe = Probe(system)
    probe.init(**KEEP)
    assert [probe.write(epoch, 1) for epoch in (1, 0)] == [48, 0]
    assert system.describe(0).partitions == (0, 1)


@pytest.mark.rule("939.22")
def test_older_release_skips_the_second_epoch(opened):
    """The record has both pairs, and trunk has the transaction under its own pair."""
    system, probe = opened
    before = system.transaction_log.replay()[0]
    probe.init(**KEEP)
    value = system.transaction_log.replay()[0]
    assert (before.next_producer_id, before.next_producer_epoch) == (-1, -1)
    assert value == before._replace(
        next_producer_id=0, next_producer_epoch=1, transaction_last_update_timestamp_ms=system.env.now_ms
    )
    assert system.downgrade()
    assert system.describe(0)[:3] == (TransactionState.ONGOING, 0, 0)
    assert system.describe(0).partitions == (0,)
