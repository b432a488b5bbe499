"""These tests check when rounds of fencing happen, and what they fence, write and fail (618.4 to 618.13)."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.connect.brokers import CONNECTOR_ADMIN, TRANSACTIONAL_ID, WRITE, Permission

MODES = ("A", "M", "B", "shipped")
ASKING = ("B", "shipped")


def cluster(mode: str, **config: object) -> Script:
    return Script.of_reference(mode=mode, **config)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("older", "newer", "fenced"),
    [(1, 1, []), (1, 2, [0]), (2, 1, [0, 1]), (2, 3, [0, 1]), (3, 2, [0, 1, 2])],
)
def test_as_many_as_the_latest_count_record_says(mode: str, older: int, newer: int, fenced: list[int]) -> None:
    """618.6, 618.5, 618.42: The round fences as many ids as the latest count record, not the new set, and none from one
    task to one. It writes the newest set's size either way."""
    script = cluster(mode, workers=2, max_tasks=3)
    script.configure(0, tasks=older)
    assert not script.kinds("id_fenced")  # without a record no task can be alive
    script.configure(0, tasks=newer)
    assert [(e.task, e.error) for e in script.kinds("id_fenced")] == [(task, 0) for task in fenced]
    assert [e.count for e in script.kinds("round_started")] == [0, len(fenced)]
    assert [e.count for e in script.kinds("count_written")] == [older, newer]
    assert [e.set for e in script.kinds("count_written")] == [e.offset for e in script.kinds("set_written")]


@pytest.mark.parametrize("mode", MODES)
def test_the_record_comes_after_every_fencing(mode: str) -> None:
    """618.7: No count record is written before the last id is fenced."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    script.configure(0, tasks=2)
    order = [e.kind for e in script.kinds("id_fenced", "count_written")]
    assert order == ["count_written", "id_fenced", "id_fenced", "count_written"]


def test_fencing_ends_an_open_transaction_first() -> None:
    """618.12: The fenced id's open transaction is rolled back before the fencing succeeds, so its records are never
    read."""
    script = cluster("shipped", workers=2)
    script.configure(0, tasks=2)
    (polling,) = script.threads("poll", task=1)
    script.system.step(polling.number)  # and it never gets to its commit
    script.system.configure(0, 0, 2)
    script.settle(6000)
    assert [e.task for e in script.kinds("task_left_running")] == [1]
    (fenced,) = [e for e in script.kinds("id_fenced") if e.task == 1]
    (opened,) = [e for e in script.kinds("producer_opened") if e.task == 1 and e.epoch < fenced.epoch]
    assert fenced.producer_id == opened.producer_id
    log = script.system.env.brokers.log(1)
    assert opened.producer_id not in log.open
    assert [txn.producer_id for txn in log.aborted] == [opened.producer_id]


def test_zero_tasks_are_recorded_and_fence_nobody() -> None:
    """A stopped connector commits a set of 0 tasks with count 0, and the next round fences no id."""
    script = cluster("shipped", workers=1)
    script.configure(0, tasks=2)
    assert script.system.stop_connector(0, 0)
    script.settle()
    assert [e.count for e in script.kinds("set_written")] == [2, 0]
    assert [e.count for e in script.kinds("count_written")] == [2]  # no task starts, and none asks
    script.configure(0, tasks=1)
    assert [e.count for e in script.kinds("count_written")] == [2, 1]
    assert [e.task for e in script.kinds("id_fenced")] == [0, 1]  # the latest record still said 2
    script.system.write_foreign("count", 0, 0)
    script.configure(0, tasks=2)
    assert [e.task for e in script.kinds("id_fenced")] == [0, 1]
    checked = script.kinds("round_checked")
    assert (len(checked), checked[-1].status) == (2, 200)  # a round all the same, without any task


@pytest.mark.parametrize("mode", ASKING)
def test_everybody_who_asks_in_time_shares_one_round(mode: str) -> None:
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    rounds = len(script.kinds("round_started"))
    script.configure(0, tasks=2)
    assert len(script.kinds("round_started")) == rounds + 1
    assert len(script.kinds("id_fenced")) == 2
    assert [e.status for e in script.kinds("round_answered")] == [200] * 4


@pytest.mark.parametrize("mode", ASKING)
@pytest.mark.rule("618.11")
def test_a_failed_round_fails_everybody_who_waits_for_it(mode: str) -> None:
    """618.7, 618.11, 618.15: The first id that cannot be fenced fails the round with 500, all waiting tasks are FAILED,
    no record is written, and a user's restart asks again."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("fence", task=1)
    script.settle()  # both have asked
    script.outcome(held, "failed")
    script.settle()
    assert [e.error for e in script.kinds("id_fenced")] == [0, 7]
    assert script.kinds("round_failed")[-1].error == 7
    assert [e.count for e in script.kinds("count_written")] == [2]
    for task in (0, 1):
        state, trace = script.system.status(0, task)
        assert state == "FAILED" and trace.startswith("ConnectRestException: 500") and "fencing task 1" in trace
    script.restart_task(0, 0)
    script.restart_task(0, 1)
    assert [script.system.status(0, task) for task in (0, 1)] == [("RUNNING", "")] * 2


@pytest.mark.rule("618.11")
def test_a_failed_round_fails_the_connector() -> None:
    """618.11, 618.21: In M the Connector is FAILED, and no task starts until its restart asks for another round."""
    script = cluster("M", workers=2)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    script.outcome(script.until("fence"), "failed")
    script.settle()
    assert script.system.status(0, -1)[0] == "FAILED"
    running = len(script.kinds("task_running"))
    script.settle(60_000)
    assert len(script.kinds("task_running")) == running
    assert script.ask(lambda worker: script.system.restart_connector(worker, 0)) >= 0
    assert script.system.status(0, -1) == ("RUNNING", "")
    assert len(script.kinds("task_running")) == running + 2


def test_the_owner_asks_when_it_starts_with_nothing_new() -> None:
    """618.21: In M a Connector whose tasks would not change asks for a round, and one that publishes a set does not
    before the next rebalance."""
    script = cluster("M", workers=2)
    script.system.configure(0, 0, 2)
    script.until("write_count")
    kinds = [e.kind for e in script.kinds("set_written", "assigned", "round_asked")]
    assert kinds[kinds.index("set_written") :][-2:] == ["assigned", "round_asked"]
    script.go()
    asked = len(script.kinds("round_asked"))
    script.ask(lambda worker: script.system.restart_connector(worker, 0))
    assert len(script.kinds("round_asked")) == asked + 1
    assert len(script.kinds("set_written")) == len(script.kinds("round_started")) == 1


@pytest.mark.parametrize("mode", MODES)
def test_rounds_of_different_connectors_run_side_by_side(mode: str) -> None:
    """618.9: While one connector's round is delayed, another's completes, and its tasks run."""
    script = cluster(mode, workers=2, connectors=2)
    for connector in (0, 1):
        script.configure(connector, tasks=2)
    if mode == "A":  # both in one assignment: the herder waits for both
        for connector in (0, 1):
            script.system.write_foreign("set", connector, 2)
        while reading := script.threads("read"):
            script.system.step(reading[0].number)
        held = script.until("fence", connector=0)
    else:
        script.system.configure(0, 0, 2)
        held = script.until("fence", connector=0)
        script.configure(1, tasks=2)
    script.settle()
    assert {e.connector for e in script.kinds("id_fenced")} == {1}
    if mode != "A":
        assert script.system.status(1, 0) == ("RUNNING", "")
    script.go(held)
    assert [script.system.status(c, t) for c in (0, 1) for t in (0, 1)] == [("RUNNING", "")] * 4


@pytest.mark.parametrize("mode", ASKING)
@pytest.mark.rule("618.47")
def test_fencing_is_the_connectors_admin(mode: str) -> None:
    """618.47: Without Write on a task's id for the connector's admin principal a round and its tasks fail with 53. Once
    it is granted, a restart succeeds."""
    script = cluster(mode, workers=1)
    script.configure(0, tasks=2)
    denied = Permission(CONNECTOR_ADMIN, WRITE, TRANSACTIONAL_ID, "connect-connector-0-1")
    script.system.env.brokers.acls.deny(denied)
    script.configure(0, tasks=2)
    assert [e.error for e in script.kinds("id_fenced")][:2] == [0, 53]
    assert script.system.status(0, 0)[0] == "FAILED"
    script.system.env.brokers.acls.allow(denied)
    for task in (0, 1):
        script.restart_task(0, task)
    assert [script.system.status(0, task) for task in (0, 1)] == [("RUNNING", "")] * 2


def test_a_partial_failure_leaves_the_connector_in_need_of_a_round() -> None:
    """618.4, 618.7: After a round that failed midway the set is still newer than the latest record, so the next request
    gets a whole round over all ids."""
    script = cluster("B", workers=1)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    script.outcome(script.until("fence", task=1), "failed")
    script.settle()
    script.restart_task(0, 0)
    assert [e.task for e in script.kinds("id_fenced")] == [0, 1, 0, 1]
    assert [e.error for e in script.kinds("id_fenced")] == [0, 7, 0, 0]


def test_a_connector_asks_again_after_a_newer_set() -> None:
    script = cluster("M", workers=2)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("fence", task=1)
    script.configure(0, tasks=2)
    script.go(held)
    newest = script.kinds("set_written")[-1].offset
    assert 409 in {e.status for e in script.kinds("round_checked")}
    assert {e.set for e in script.kinds("task_running")[-2:]} == {newest}
    assert script.system.status(0, -1) == ("RUNNING", "")
