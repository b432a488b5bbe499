"""These tests check the visible interface of transactions: config, fields, codes, columns, and both paces."""

import pytest
from fencepost.reference_impl.kafka import errors, messages
from fencepost.reference_impl.kafka.environment import (
    COLUMNS,
    KIND_NAMES,
    Config,
    Environment,
    Event,
    Kind,
    SeededPace,
    readable,
)
from fencepost.reference_impl.kafka.transaction_states import (
    IDLE,
    VALID_PREVIOUS,
    TransactionMetadata,
    TransactionState,
    new_transit,
    violation,
)
from fencepost.reference_impl.simulation import FaultMix, Kernel, LossyNetwork
from fencepost.reference_impl.systems.transactions import Parts, System, reference
from txn_bench import V1, V2, Bench

# Configuration


def test_defaults_are_kafkas():
    """txn.4, txn.18, txn.20: Epochs end at 32767, transactions after a minute, and idle ids after a week."""
    config = Config.parse({})
    assert (config.max_epoch, config.transaction_timeout_ms, config.timeout_check_ms) == (32767, 60_000, 10_000)
    assert config.expiration_ms == 7 * 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"colour": 1}, r"config has unknown keys \['colour'\]: known are"),
        ({"mode": "v3"}, "config mode='v3': must be one of v1, v1-verified, v2"),
        ({"partitions": 0}, "config partitions=0: must be at least 1"),
        ({"groups": -1}, "config groups=-1: must be at least 0"),
        ({"clients": 1.5}, "config clients=1.5: must be a whole number"),
        ({"seed": True}, "config seed=True: must be a whole number"),
        ({"max_epoch": 32768}, "config max_epoch=32768: epochs are int16, the greatest is 32767"),
        ({"leader_change": "none"}, "config leader_change='none': must be one of replica, restart"),
    ],
)
def test_bad_configuration_is_refused_in_one_line(config, message):
    """txn.4: The error names the key, the value and the allowed values."""
    with pytest.raises(ValueError, match=message) as caught:
        reference(config)
    assert "\n" not in str(caught.value)


# Fields, codes, columns


def test_requests_have_kafkas_fields():
    """txn.2, txn.6, txn.7: The requests have the protocol's fields in snake case."""
    assert messages.InitProducerIdRequest._fields == (
        "transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch",
    )  # fmt: skip
    assert messages.EndTxnRequest._fields == ("transactional_id", "producer_id", "producer_epoch", "committed")
    assert messages.EndTxnResponse._fields == ("error_code", "producer_id", "producer_epoch")
    assert messages.WriteTxnMarkersRequest._fields == (
        "producer_id", "producer_epoch", "transaction_result", "partition", "coordinator_epoch", "transaction_version",
    )  # fmt: skip


def test_some_codes_are_retriable():
    """txn.5: Error 51 is retriable, and 90 is not."""
    assert errors.ErrorCode.CONCURRENT_TRANSACTIONS in errors.RETRIABLE
    assert errors.ErrorCode.PRODUCER_FENCED not in errors.RETRIABLE


def test_rows_are_events():
    """txn.8: A row has one integer per column, and is read as the original event."""
    bench = Bench()
    bench.init()
    row = bench.env.log.rows[-1]
    assert len(row) == len(COLUMNS) == len(Event._fields)
    assert all(type(value) is int for value in row)
    assert readable(row).kind == "init_handled"
    assert KIND_NAMES[Kind.OFFSET_FETCHED] == "offset_fetched"


@pytest.mark.parametrize("mode", [V1, V2])
def test_messages_name_kind_and_both_ends(mode):
    """txn.15: A message in flight is (number, kind, source, target, request)."""
    system = reference({"mode": mode})
    system.init(0)
    ((number, *rest),) = system.messages()
    assert rest == ["init", "client-0", "coordinator", 0]
    system.deliver(number, keep=True)
    assert system.messages() == [(number, *rest)]
    assert system.log_append()
    assert [message[1:4] for message in system.messages()][1:] == [("init_answer", "coordinator", "client-0")]
    system.drop(number)
    with pytest.raises(KeyError, match=f"no message {number} in flight"):
        system.deliver(number)


def test_check_has_the_number_of_its_produce():
    """txn.15: Check and produce have the same request number, so that a history links them."""
    bench = Bench(V2)
    bench.init()
    number = bench.send("produce", "partition-0", messages.ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.flow("produce")
    assert [message[1:] for message in bench.system.messages()] == [("check", "partition-0", "coordinator", number)]


def test_log_append_says_whether_there_was_one():
    """txn.8: Without an unfinished append there is nothing to finish."""
    assert not reference({}).log_append()


# The states


def test_dead_and_fence_are_never_reached():
    """txn.20: Dead and PrepareEpochFence are only ever pending, and Dead has no successor."""
    followed = set().union(*VALID_PREVIOUS.values())
    assert TransactionState.DEAD not in followed
    assert VALID_PREVIOUS[TransactionState.DEAD] == IDLE


def test_illegal_transitions_are_a_defect():
    """txn.8: A second pending transition, or one that no state permits, is refused with a reason."""
    metadata = TransactionMetadata(0, new_transit(0, 60_000, 0, 2))
    with pytest.raises(RuntimeError, match="no transition leads from state 0 to 2"):
        metadata.prepare(TransactionState.PREPARE_COMMIT)
    metadata.prepare(TransactionState.ONGOING)
    with pytest.raises(RuntimeError, match="answer CONCURRENT_TRANSACTIONS instead"):
        metadata.prepare(TransactionState.EMPTY)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, ""),
        ({"producer_epoch": 7}, "epoch goes from -1 to 7"),
        ({"topic_partitions": frozenset({1})}, "an empty state has partitions or a start"),
        ({"state": TransactionState.ONGOING}, "pending is 0, not 1"),
    ],
)
def test_completion_is_checked(changes, wrong):
    """txn.4: Kafka's sanity checks find an epoch that jumps, or too many partitions."""
    metadata = TransactionMetadata(0, new_transit(0, 60_000, 0, 2))
    metadata.prepare(TransactionState.EMPTY)
    assert violation(metadata, metadata.now._replace(**changes)) == wrong


def test_unknown_messages_are_named():
    """txn.10: A message of an unknown kind raises an error with the kinds that the node handles."""
    bench = Bench()
    with pytest.raises(ValueError, match="it handles init, add, check, end and marker_answer"):
        bench.ask("fetch", "coordinator", None)
    with pytest.raises(ValueError, match="it handles produce, marker and check_answer"):
        bench.ask("fetch", "partition-0", None)


# Running free


def free_running(seed, failure):
    """Return a cluster in which appends and loading finish by themselves after a random time."""
    config = Config.parse({"seed": seed, "clients": 1, "timeout_check_ms": 1000})
    kernel = Kernel(config.seed)
    faults = FaultMix(kernel.random, {})
    network = LossyNetwork(kernel, faults, {}, 1_000, 10_000)
    env = Environment(config, kernel, network, SeededPace(kernel, faults, failure, 2_000, 50_000))
    return System(env, Parts()), faults


def test_appends_finish_by_themselves():
    """txn.8: Under a seeded pace a producer initialises without a driver, and the same seed gives the same rows."""
    histories = []
    for _ in range(2):
        system, _ = free_running(3, 0.0)
        system.init(0)
        system.advance(1_000)
        histories.append(system.env.log.rows)
    assert histories[0] == histories[1]
    assert "init_taken" in [event.kind for event in system.drain_events()]


def test_failed_appends_are_counted_and_survived():
    """txn.8: Every second append fails, and the producer retries until one succeeds."""
    system, faults = free_running(5, 0.5)
    for _ in range(12):
        system.init(0)
        system.advance(5_000)
        system.restart_client(0)
    kinds = [event.kind for event in system.drain_events()]
    assert faults.counts["append_failure"] == kinds.count("append_failed") > 0
    assert kinds.count("txn_logged") == 12
    assert kinds.count("init_taken") == kinds.count("txn_logged") + kinds.count("append_failed")


def test_new_coordinator_takes_its_time():
    """txn.19: After a fail-over requests get error 14 for a while, and are then answered."""
    system, _ = free_running(1, 0.0)
    system.fail_over()
    system.init(0)
    system.advance(2_000)
    answers = [event.error for event in system.drain_events() if event.kind == "init_handled"]
    assert answers[0] == errors.ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answers[-1] == 0
