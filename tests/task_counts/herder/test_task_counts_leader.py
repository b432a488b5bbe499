"""The leader's write privilege decides which transactions write to the config topic (618.24 to 618.26, 618.43)."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script

MODES = ("A", "M", "B", "shipped")


def cluster(mode: str, **config: object) -> Script:
    return Script.of_reference(mode=mode, **config)


@pytest.mark.parametrize("mode", MODES)
def test_a_zombie_leader_cannot_write_a_count_record(mode: str) -> None:
    """618.26: A leader that stalls before it writes the count record is refused, since the new leader has claimed the
    topic and written a newer set."""
    script = cluster(mode, workers=3)
    script.configure(0, tasks=2)
    leader = script.leader()
    script.system.configure(leader, 0, 2)
    held = script.until("write_count", worker=leader)
    script.zombie(leader)
    script.configure(0, tasks=1)
    assert script.leader() != leader
    counts = len(script.kinds("count_written"))
    script.resume(leader)
    script.system.step(held.number)
    refused = script.kinds("write_refused")[-1]
    assert (refused.node, refused.error) == (leader, 90)
    assert len(script.kinds("count_written")) == counts


def test_a_round_that_was_overtaken_writes_nothing() -> None:
    """618.43: A set committed during a round cancels it: the round fences on, writes nothing, and answers 409 to all,
    and the newer set's tasks get their own round."""
    script = cluster("shipped", workers=2, preemptive_stop=False)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("fence", task=1)
    script.settle()
    counts, asked = len(script.kinds("count_written")), len(script.kinds("round_answered"))
    waited = {e.instance for e in script.kinds("task_starting") if e.set == script.kinds("set_written")[1].offset}
    script.system.configure(0, 0, 1)
    script.run(lambda: len(script.kinds("set_written")) == 3)
    script.system.step(held.number)
    assert script.kinds("id_fenced")[-1].error == 0
    while not (checking := script.threads("check_round")):
        script.step()
    script.system.step(checking[0].number)
    assert script.kinds("round_checked")[-1].status == 409
    assert len(script.kinds("count_written")) == counts
    script.held.clear()
    script.settle()
    assert {e.status for e in script.kinds("round_answered")[asked:-1]} <= {409}
    assert len(waited) == 2 and waited <= {e.instance for e in script.kinds("task_failed", "task_stopped")}
    assert not waited & {e.instance for e in script.kinds("producer_opened")}
    assert script.kinds("count_written")[-1].set == script.kinds("set_written")[-1].offset
    if script.system.status(0, 0)[0] == "FAILED":
        script.restart_task(0, 0)
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("mode", ["B", "shipped"])
def test_who_joins_a_cancelled_round_is_answered_409_too(mode: str) -> None:
    """A task of the newer set that joins a cancelled round shares its result, FAILED with 409, and a restart helps."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("fence", task=1)
    script.configure(0, tasks=1)
    newest = script.kinds("set_written")[-1].offset
    assert [e.set for e in script.kinds("task_starting")][-1] == newest
    assert not script.threads("open_producer") and script.system.status(0, 0)[0] != "RUNNING"
    script.go(held)
    state, trace = script.system.status(0, 0)
    assert state == "FAILED" and trace.startswith("ConnectRestException: 409")
    script.restart_task(0, 0)
    assert script.system.status(0, 0) == ("RUNNING", "")


def test_the_look_at_the_end_finds_a_foreign_set() -> None:
    """618.43: check_round reads to the end, finds a set from outside, and the round fails."""
    script = cluster("B", workers=1)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("check_round")
    counts = len(script.kinds("count_written"))
    script.system.write_foreign("set", 0, 2)
    script.system.step(held.number)
    assert script.kinds("round_checked")[-1].status == 409
    assert len(script.kinds("count_written")) == counts


def test_nothing_comes_between_the_look_and_the_write() -> None:
    """618.43: Between check_round and write_count the leader claims no privilege and takes no request."""
    script = cluster("shipped", workers=1)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    held = script.until("check_round")
    script.system.configure(0, 0, 1)
    assert [t.operation for t in script.threads(worker=0, task=-1) if t.number == held.number] == ["check_round"]
    script.system.step(held.number)
    assert [t.operation for t in script.threads() if t.number == held.number] == ["write_count"]
    script.system.step(held.number)
    assert [t.operation for t in script.threads() if t.number == held.number] == ["write"]


@pytest.mark.parametrize("mode", MODES)
def test_a_leader_that_was_fenced_claims_again(mode: str) -> None:
    """618.26: A zombie claims the topic back. The real leader's next write is refused, it claims again, and the user
    may repeat the request."""
    script = cluster(mode, workers=2, heartbeat_ms=3000)
    script.configure(0, tasks=1)
    old = script.leader()
    new = 1 - old
    script.system.configure(old, 0, 1)
    held = script.until("write", worker=old)
    script.zombie(old)
    script.settle(4000)
    assert script.leader() == new
    script.resume(old)
    script.system.step(held.number)  # refused: the new leader holds the topic
    assert [t.operation for t in script.threads(worker=old) if t.number == held.number] == ["claim"]
    script.system.step(held.number)
    assert script.leader() == old
    assert script.system.configure(new, 0, 1)
    script.settle()
    refused = script.kinds("write_refused")
    assert [e.node for e in refused][-1] == new and refused[-1].error == 90
    assert script.leader() == new
    script.held.clear()
    script.settle(10_000)
    sets = len(script.kinds("set_written"))
    script.configure(0, tasks=1)
    assert len(script.kinds("set_written")) > sets
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("outcome", ["failed", "lost"])
def test_a_write_of_unknown_fate_costs_the_privilege(mode: str, outcome: str) -> None:
    script = cluster(mode, workers=1)
    script.system.configure(0, 0, 1)
    held = script.until("write")
    start = len(script.seen())
    script.outcome(held, outcome)
    script.settle()
    script.configure(0, tasks=1)
    of_interest = ("connector_written", "write_refused", "topic_claimed")
    kinds = [e.kind for e in script.seen()[start:] if e.kind in of_interest]
    done = ["connector_written"] if outcome == "lost" else []
    assert kinds == [*done, "write_refused", "topic_claimed", "connector_written"]
    assert script.kinds("write_refused")[0].error == 7
    first, second = script.kinds("topic_claimed")
    assert second.epoch == first.epoch + 1
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("mode", MODES)
def test_a_claim_that_fails_is_tried_again(mode: str) -> None:
    """A leader does nothing else until its producer is open, and tries again every 250 ms."""
    script = cluster(mode, workers=1)
    script.system.restart_worker(0)
    held = script.until("claim")
    script.outcome(held, "failed")
    script.settle()
    assert script.kinds("claim_failed")[-1].error == 7
    script.configure(0, tasks=1)
    assert script.system.status(0, 0) == ("RUNNING", "")


def test_a_leader_that_leads_again_keeps_its_old_producer() -> None:
    """After leadership is lost and regained without a write, the old producer's next write is refused, and it is
    replaced."""
    script = cluster("shipped", workers=2, heartbeat_ms=3000)
    script.configure(0, tasks=1)
    first = script.leader()
    script.zombie(first)
    assert script.leader() == 1 - first
    script.resume(first)
    script.settle(4000)
    assert script.kinds("leadership_lost")[-1].node == first
    script.zombie(1 - first)
    held = [e for e in script.kinds("topic_claimed") if e.node == first]
    assert len(held) == 1  # nothing was opened for the second reign
    script.configure(0, tasks=1)
    assert script.kinds("write_refused")[-1].node == first
    assert script.leader() == first


def test_followers_write_nothing() -> None:
    """Every record has the leader's producer id and epoch, whichever worker gets the request."""
    script = cluster("B", workers=3)
    script.configure(0, tasks=2)
    for worker in range(3):
        assert script.system.configure(worker, 0, 2)
        script.settle()
    kinds = ("connector_written", "task_config_written", "set_written", "count_written")
    assert {e.node for e in script.kinds(*kinds)} == {script.leader()}
