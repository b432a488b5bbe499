"""These tests check how workers implement each interface rule of KIP-618."""

import json

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.connect.brokers import (
    CONNECTOR_ADMIN,
    CREATE,
    DESCRIBE,
    OFFSETS_TOPIC,
    OUTPUT_TOPIC,
    TOPIC,
    TRANSACTIONAL_ID,
    WORKER_PRODUCER,
    WRITE,
    Permission,
)
from fencepost.reference_impl.systems.task_counts_cluster import System, reference

MODES = ("A", "M", "B", "shipped")
BY_HAND = {"mode": "shipped", "workers": 1, "support": "enabled", "creates_internal_topics": False}
"""This config stands for internal.topics.automatic.creation.enable=false."""


def cluster(mode: str, **config: object) -> Script:
    return Script.of_reference(mode=mode, **config)


def keys(system: System) -> list[str]:
    return [record.key for _, record in system.config_topic()]


@pytest.mark.parametrize("mode", MODES)
def test_the_task_count_record(mode: str) -> None:
    """618.1: `tasks-count-<connector>` has {"tasks": n}, as shipped `tasks-fencing-<connector>` {"task-count": n}."""
    script = cluster(mode, workers=1)
    script.configure(0, tasks=2)
    key, value = script.system.config_topic()[-1][1]
    assert value is not None
    shipped = ("tasks-fencing-connector-0", {"task-count": 2})
    assert (key, json.loads(value)) == (shipped if mode == "shipped" else ("tasks-count-connector-0", {"tasks": 2}))


@pytest.mark.parametrize("mode", ["B", "shipped"])
@pytest.mark.rule("618.10")
def test_rounds_are_asked_for_over_the_internal_endpoint(mode: str) -> None:
    """618.10: A follower sends the leader a request that is signed with the session key, and is answered 200."""
    script = cluster(mode, workers=2)
    assert keys(script.system) == ["session-key"]
    script.system.configure(0, 0, 2)
    asking = script.until("ask", worker=1)
    script.go(asking)
    (asked,) = [e for e in script.kinds("round_asked") if e.node == 1]
    (answered,) = [e for e in script.kinds("round_answered") if e.request == asked.request]
    assert (answered.node, answered.status) == (1, 200)


@pytest.mark.parametrize(
    ("key", "status"), [("missing", 400), ("other", 403)], ids=["no session key", "another session key"]
)
@pytest.mark.rule("618.10")
def test_requests_that_are_not_signed_as_they_must_be_are_refused(key: str, status: int) -> None:
    """618.10: An unsigned request is answered 400, one with another key 403, and the asking task is FAILED."""
    script = cluster("B", workers=2)
    script.system.configure(0, 0, 2)
    asking = script.until("ask", worker=1)
    herder = script.system.env.workers[1].herder
    assert herder is not None and herder.view.state.session_key is not None
    other = {**herder.view.state.session_key, "key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
    herder.view.state.session_key = None if key == "missing" else other
    script.go(asking)
    state, trace = script.system.status(0, asking.task)
    assert state == "FAILED" and trace.startswith(f"ConnectRestException: {status}")


@pytest.mark.parametrize("mode", ["M", "B", "shipped"])
@pytest.mark.rule("618.10")
def test_the_endpoint_is_served_whatever_the_flag_says(mode: str) -> None:
    """618.10: A leader without the feature serves rounds for workers that have it, for their tasks or, in M, their
    Connectors."""
    script = cluster(mode, workers=2, connectors=2, support=["disabled", "enabled"])
    script.configure(0, tasks=2)
    script.configure(1, tasks=2)  # owned by the other worker
    assert script.system.env.group.leader == 0
    asked = {e.request for e in script.kinds("round_asked") if e.node == 1}
    assert asked
    assert {e.status for e in script.kinds("round_answered") if e.request in asked} == {200}
    running = {(e.node, e.connector) for e in script.kinds("task_running")}
    assert (1, 1) in running and ("count_written", 1) in {(e.kind, e.connector) for e in script.seen()}


def test_the_session_key_is_replaced_in_time() -> None:
    """618.10: After an hour the leader writes a new key, which signs requests as soon as it is read."""
    script = cluster("B", workers=2)
    script.configure(0, tasks=2)
    script.system.advance(3_600_000)
    script.settle()
    assert keys(script.system).count("session-key") == 2
    script.configure(0, tasks=2)
    assert {e.status for e in script.kinds("round_answered")} == {200}


def test_a_version_without_the_endpoint_answers_404() -> None:
    """618.10, 618.35: A leader of an older version has no such endpoint, and the asking task is FAILED."""
    script = cluster("shipped", workers=2, support=["none", "enabled"])
    script.configure(0, tasks=2)
    state, trace = script.system.status(0, 1)
    assert state == "FAILED" and trace.startswith("ConnectRestException: 404")


@pytest.mark.rule("618.10")
def test_a_request_to_a_worker_that_does_not_lead_is_forwarded() -> None:
    """618.10: A follower forwards a request to the leader, and returns its answer."""
    script = cluster("shipped", workers=3)
    script.configure(0, tasks=2)
    leader = script.leader()
    asker = next(t.worker for t in script.threads("poll") if t.worker != leader)
    other = 3 - leader - asker
    script.system.restart_task(asker, 0, script.threads("poll", worker=asker)[0].task)
    asking = script.until("ask", worker=asker)
    herder = script.system.env.workers[asker].herder
    assert herder is not None
    herder.leader = other  # it has missed a change
    script.system.step(asking.number)
    (forwarding,) = script.threads("ask")
    assert (forwarding.worker, forwarding.task) == (other, -1)
    script.system.step(forwarding.number)
    assert [t.worker for t in script.threads("start_round")] == [leader]
    script.go()
    assert script.kinds("round_answered")[-1].status == 200
    assert script.kinds("round_answered")[-1].node == asker


@pytest.mark.parametrize("mode", ["B", "shipped"])
@pytest.mark.rule("618.11")
def test_a_failed_round_is_the_trace_of_the_task(mode: str) -> None:
    """618.11: The leader answers 500, and the asking task is FAILED with the answer as its trace."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("fence")
    script.settle()
    script.outcome(held, "failed")
    script.settle()
    assert {e.status for e in script.kinds("round_failed")} == {500}
    traces = {script.system.status(0, task) for task in (0, 1)}
    assert traces == {("FAILED", next(iter(traces))[1])} and "500" in next(iter(traces))[1]


@pytest.mark.rule("618.11")
def test_a_failed_round_is_the_trace_of_the_connector() -> None:
    """618.11: In M the Connector is FAILED with the answer as its trace, and its tasks do not start."""
    script = cluster("M", workers=1)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    script.outcome(script.until("fence"), "failed")
    script.settle()
    state, trace = script.system.status(0, -1)
    assert state == "FAILED" and trace.startswith("ConnectRestException: 500")
    assert not script.kinds("task_failed")


@pytest.mark.rule("618.13")
def test_fencing_gives_a_result_for_each_id() -> None:
    """618.13: Each id has its own result, with producer id and epoch, independent of the others."""
    script = cluster("shipped", workers=1)
    script.configure(0, tasks=2)
    opened = {e.task: e for e in script.kinds("producer_opened")}
    denied = Permission(CONNECTOR_ADMIN, WRITE, TRANSACTIONAL_ID, "connect-connector-0-1")
    script.system.env.brokers.acls.deny(denied)
    script.configure(0, tasks=2)
    first, second = script.kinds("id_fenced")
    assert (first.error, first.producer_id, first.epoch) == (0, opened[0].producer_id, opened[0].epoch + 1)
    assert (second.error, second.producer_id, second.epoch) == (53, -1, -1)


@pytest.mark.parametrize("mode", ["B", "shipped"])
@pytest.mark.rule("618.17")
def test_a_separate_offsets_topic_is_created(mode: str) -> None:
    """618.17: The first task creates the topic, and no later task fails because it exists or may not be created."""
    script = cluster(mode, workers=1, offsets_topic="mine")
    script.configure(0, tasks=2)
    script.configure(0, tasks=2)
    assert set(script.system.env.brokers.topics) == {"mine"}
    denied = Permission(CONNECTOR_ADMIN, CREATE, TOPIC, "mine")
    script.system.env.brokers.acls.deny(denied)
    script.configure(0, tasks=2)
    assert [script.system.status(0, task) for task in (0, 1)] == [("RUNNING", "")] * 2
    kinds = [e.kind for e in script.seen() if e.instance == 0]
    assert kinds.index("task_checked" if mode == "B" else "task_checked_again") < kinds.index("task_running")


@pytest.mark.parametrize("mode", ["B", "shipped"])
@pytest.mark.rule("618.48")
def test_of_a_separate_offsets_topic_only_the_name_is_the_connectors(mode: str) -> None:
    """618.48: Partitions and replication factor are the workers', whatever the connector's config contains."""
    sizes = {"offset_partitions": 5, "offset_replication": 2, "connector_partitions": 1}
    script = cluster(mode, workers=1, offsets_topic="mine", **sizes)
    script.configure(0, tasks=1)
    assert script.system.env.brokers.topics == {"mine": (5, 2)}


@pytest.mark.parametrize("mode", ["B", "shipped"])
@pytest.mark.rule("618.17")
def test_an_offsets_topic_that_cannot_be_created_fails_the_task(mode: str) -> None:
    """618.17: Any other error fails the task, in B before its producer is opened, as shipped when the store starts."""
    script = cluster(mode, workers=1, offsets_topic="mine")
    script.system.env.brokers.policy_error = 44  # POLICY_VIOLATION
    script.configure(0, tasks=1)
    state, trace = script.system.status(0, 0)
    assert (state, trace) == (
        "FAILED",
        "ConnectException: offsets topic mine cannot be created: error POLICY_VIOLATION (44)",
    )
    assert bool(script.kinds("producer_opened")) == (mode == "shipped")


@pytest.mark.rule("618.54")
def test_an_offsets_topic_that_is_not_created_has_to_be_there() -> None:
    """618.54: Without automatic creation nothing is created, and a topic that is missing or may not be described fails
    the task. Creation would tolerate the latter."""
    system = reference({**BY_HAND, "offsets_topic": "mine"})
    brokers = system.env.brokers
    brokers.internal.update({"connect-configs", "connect-offsets", "connect-status"})
    system.restart_worker(0)
    script = Script(system, workers=1)
    script.configure(0, tasks=1)
    state, trace = script.system.status(0, 0)
    assert state == "FAILED" and trace.startswith("ConnectException: missing mine")
    assert brokers.topics == {}
    brokers.topics["mine"] = (1, 1)
    denied = Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, "mine")
    brokers.acls.deny(denied)
    script.restart_task(0, 0)
    assert (
        "not authorized to describe topic mine: error TOPIC_AUTHORIZATION_FAILED (29)" in script.system.status(0, 0)[1]
    )
    brokers.acls.allow(denied)
    script.restart_task(0, 0)
    assert script.system.status(0, 0) == ("RUNNING", "")
    assert brokers.topics == {"mine": (1, 1)}


def test_workers_do_not_start_without_their_topics() -> None:
    """618.54: Without automatic creation a worker stops until all three topics exist."""
    system = reference(BY_HAND)
    topics = system.env.brokers.internal
    assert [e.kind for e in system.drain_events()] == ["worker_started", "worker_stopped"]
    topics.add("connect-configs")
    system.restart_worker(0)
    assert "missing connect-offsets, connect-status" in system.env.workers[0].failure
    assert (system.threads(), topics) == ([], {"connect-configs"})
    topics.update({"connect-offsets", "connect-status"})
    system.restart_worker(0)
    assert [thread[1] for thread in system.threads()] == ["join"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.rule("618.20")
def test_only_then_it_polls(mode: str) -> None:
    """618.20: Nothing is sent before the second check has passed, and records and offsets share one transaction."""
    script = cluster(mode, workers=1)
    script.configure(0, tasks=1)
    script.work()
    instance = [e for e in script.seen() if e.instance == 0]
    kinds = [e.kind for e in instance]
    assert kinds[-5:] == [
        "producer_opened", "task_checked_again", "task_running", "records_sent", "transaction_committed",
    ]  # fmt: skip
    brokers = script.system.env.brokers
    writers = {b.producer_id for p in (OUTPUT_TOPIC, OFFSETS_TOPIC) for b in brokers.log(p).batches}
    assert writers == {instance[-1].producer_id}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.rule("618.20")
def test_an_abandoned_start_is_no_failure(mode: str) -> None:
    """618.20: In the documents the start is abandoned and needs no action. As shipped it is FAILED, and the newer set's
    task still comes by itself."""
    script = cluster(mode, workers=1, preemptive_stop=False)
    script.system.configure(0, 0, 1)
    held = script.until("open_producer")
    script.system.configure(0, 0, 1)
    script.run(lambda: len(script.kinds("set_written")) == 2)
    for _ in ("open_producer", "check_after"):
        script.system.step(held.number)
    script.go()
    failed, abandoned = script.kinds("task_failed"), script.kinds("task_abandoned")
    assert (len(failed), len(abandoned)) == ((1, 0) if mode == "shipped" else (0, 1))
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("ms", [0, 5_000, 20_000])
@pytest.mark.rule("618.23")
def test_the_graceful_timeout_is_configured(ms: int) -> None:
    """618.23: A worker waits for a task for task.shutdown.graceful.timeout.ms, and no longer."""
    script = cluster("B", workers=1, graceful_shutdown_ms=ms)
    script.configure(0, tasks=1)
    script.system.step(script.threads("poll")[0].number)
    now = script.system.env.now_ms
    assert script.system.restart_task(0, 0, 0)
    assert script.run(lambda: bool(script.kinds("task_left_running")), ms=30_000)
    assert ms <= script.kinds("task_left_running")[0].time_us // 1000 - now <= ms + 50


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("support", ["none", "disabled", "preparing", "enabled"])
def test_when_the_leader_writes_transactionally(mode: str, support: str) -> None:
    """618.24: The id is `connect-cluster-<group>`, used in A with the feature on, in M and B always, as shipped with
    `preparing` or `enabled`."""
    if support == "preparing" and mode != "shipped":
        with pytest.raises(ValueError, match="a boolean flag"):
            cluster(mode, support=support)
        return
    script = cluster(mode, workers=1, support=support, group_id="g")
    script.configure(0, tasks=1)
    transactional = {"A": ("enabled",), "shipped": ("preparing", "enabled")}.get(mode, ("disabled", "enabled"))
    assert ("connect-cluster-g" in script.system.env.brokers.ids) == (support in transactional)
    written = script.kinds("connector_written", "set_written")
    assert {e.epoch >= 0 for e in written} == {support in transactional}


def test_an_override_of_the_leaders_id_is_ignored() -> None:
    """618.24: A user's transactional.id for the worker is ignored with a warning."""
    script = cluster("B", workers=1, transactional_id="mine")
    herder = script.system.env.workers[0].herder
    assert herder is not None and "mine is ignored" in herder.warnings[0]
    assert "mine" not in script.system.env.brokers.ids


@pytest.mark.parametrize("mode", MODES)
def test_transactions_of_the_leader(mode: str) -> None:
    """618.25: Each record has a transaction. As shipped each call has one, and the commit record its own."""
    script = cluster(mode, workers=1)
    script.configure(0, tasks=2)
    log = script.system.env.brokers.log(0)
    records_of, run = [], 0
    for batch in log.batches:
        run = run + 1 if batch.marker < 0 else 0
        if batch.marker < 0:
            records_of.append(run)
    assert max(records_of) == (2 if mode == "shipped" else 1)
    assert len([b for b in log.batches if b.marker == 1]) == {"A": 5, "M": 6, "B": 6, "shipped": 5}[mode]


@pytest.mark.rule("618.46")
@pytest.mark.parametrize("mode", MODES)
def test_off_by_default(mode: str) -> None:
    """618.46: By default tasks run without transactions, rounds and checks."""
    script = Script(reference({"mode": mode, "workers": 2}), workers=2)
    assert {e.support for e in script.kinds("worker_started")} == {1}  # disabled
    script.configure(0, tasks=2)
    script.work()
    # In A only the leader takes part in a round, and it holds one whatever its flag is.
    assert not script.kinds("round_asked", "task_checked", "producer_opened", "task_checked_again")
    assert len(script.kinds("transaction_committed")) == 2
    assert {e.producer_id for e in script.kinds("transaction_committed")} == {-1}


@pytest.mark.rule("618.46")
@pytest.mark.parametrize("mode", ["B", "shipped"])
def test_it_must_be_on_at_every_worker(mode: str) -> None:
    """618.46: If one worker only has the feature on, only its tasks are protected."""
    script = cluster(mode, workers=2, support=["enabled", "disabled"])
    script.configure(0, tasks=2)
    script.work()
    pairs = {e.node: e.producer_id >= 0 for e in script.kinds("transaction_committed")}
    assert pairs == {0: True, 1: False}


@pytest.mark.rule("618.46")
def test_values_of_the_flag() -> None:
    """618.46: The flag is boolean in the documents, and disabled, preparing or enabled as shipped."""
    system = reference({"mode": "shipped", "workers": 1})
    for value in ("preparing", "disabled", "none", "enabled"):
        system.set_support(0, value)
    assert [e.support for e in system.drain_events() if e.kind == "worker_started"] == [1, 2, 1, 0, 3]
    with pytest.raises(ValueError, match="must be one of none, disabled, preparing, enabled"):
        system.set_support(0, "on")


@pytest.mark.rule("618.47")
def test_config_topic_writes_are_the_workers_producer() -> None:
    """618.47: A leader needs Write on its id for the worker's producer principal, whatever the connector's admin may
    do."""
    script = cluster("shipped", workers=1)
    script.system.env.brokers.acls.deny(Permission(WORKER_PRODUCER, WRITE, TRANSACTIONAL_ID, "connect-cluster-connect"))
    script.system.restart_worker(0)
    script.settle()
    assert script.kinds("claim_failed")[-1].error == 53
    assert script.system.configure(0, 0, 1)
    script.settle()
    assert not script.kinds("connector_written")
