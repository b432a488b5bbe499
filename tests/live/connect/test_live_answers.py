"""What live clusters of Kafka Connect do of small, empty and deleted sets, of stuck flushes, of workers that differ in
support, and of a coordinator that is killed. So far Kafka is right."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from connect_probe import DUE_S, PATIENT, REFUSED, Probe, Zombie
from fencepost.reference_impl.live.tcp.brokers import TRANSACTION, Brokers

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600), pytest.mark.nightly]
Special = Callable[..., Probe]
STUCK_S = 4.0  # several flushes of one second


def test_one_task_after_one_is_fenced_by_its_successor(probe: Probe) -> None:
    """618.5: no task is fenced where a set of one task follows another. The old task may commit while the new one's
    producer is not open yet, and the new one begins behind that."""
    zombie = Zombie(probe, probe.configure(1)[0])
    [taken_over] = zombie.starts(1)
    begun = probe.ask(1, probe.others(zombie.task.worker)[0])
    _, new = zombie.starts(2)
    probe.shows(probe.sets_and_counts, ["set of 1", "count 1"] * 2)
    assert zombie.goes_on() == 0
    taken_over.drop()
    new.release()
    started = probe.control.wait_for("started", DUE_S, connector=probe.name, task=0, since=begun)
    assert (started.fields["found"], probe.fences(begun)) == ("0:1", [])
    zombie.ends()


def test_a_connector_that_is_deleted_leaves_its_count(probe: Probe) -> None:
    """618.38: a connector is deleted and created with fewer tasks. The count of the deleted one stands, so that each of
    its tasks is fenced."""
    zombie = Zombie(probe, probe.configure(2)[1])
    [taken_over] = zombie.starts(1)
    other = probe.others(zombie.task.worker)[0]
    probe.cluster.delete(probe.name, other)
    begun = len(probe.seen.lines)
    probe.ask(1, other)
    probe.shows(probe.sets_and_counts, ["set of 2", "count 2", "set of 1", "count 1"])
    assert probe.fences(begun) == [probe.id(0), probe.id(1)]
    assert zombie.goes_on() in REFUSED
    taken_over.drop()
    zombie.ends()
    probe.shows(probe.keys, [])


def test_an_empty_set_has_no_count(probe: Probe) -> None:
    """618.5, 618.42: for a set without tasks there is no round, and an old task may commit as long as none of a newer
    one runs, which fences it. A reset of the offsets fences too, and counts 0 tasks."""
    zombie = Zombie(probe, probe.configure(2)[1])
    [taken_over] = zombie.starts(1)
    begun = probe.ask(0, probe.others(zombie.task.worker)[0])
    probe.shows(probe.sets_and_counts, ["set of 2", "count 2", "set of 0"])
    assert zombie.goes_on() == 0
    taken_over.drop()
    zombie.ends()
    probe.shows(probe.keys, ["1:1"])
    assert probe.fences(begun) == []
    new = probe.configure(2)[1]
    assert probe.fences(begun) == [probe.id(0), probe.id(1)]
    assert probe.control.wait_for("started", instance=new.name).fields["found"] == "1:1"
    begun = len(probe.seen.lines)
    probe.cluster.stop_connector(probe.name)
    probe.cluster.wait_until_over(probe.name)
    reset = probe.cluster.ask("reset", probe.name, "DELETE", "/offsets", timeout_s=DUE_S)
    assert reset is not None and reset.is_done
    assert probe.fences(begun) == [probe.id(0), probe.id(1)]
    probe.shows(lambda: probe.sets_and_counts()[3:], ["set of 2", "count 2", "set of 0", "count 0"])


def test_an_aborted_record_is_done(probe: Probe) -> None:
    """618.28: where a connector aborts, offsets are committed without their records, and commitRecord is called, with a
    place in the topic, for those that had been sent."""
    probe.configure(1, transaction__boundary="connector", exactly__once__support="required")
    probe.hold_polls()
    first = probe.polls()
    first.answer(records="0:2")
    probe.shows(lambda: [key for key, _ in probe.read(probe.name, committed=False)], ["0:1", "0:2"])
    second = probe.polls(since=first.line + 1)
    second.answer(records="0:1", boundary="abort")
    third = probe.polls(since=second.line + 1)
    probe.commits(third, "0:4", boundary="commit")
    probe.shows(probe.keys, ["0:4"])
    told = {each["record"]: each["at"] for each in probe.seen.since(call="commitRecord", connector=probe.name)}
    assert (told["0:1"], told["0:2"], probe.offsets()) == ("0", "1", [3, 4])


@pytest.mark.parametrize("support", ["disabled", "preparing"])
def test_a_leader_without_the_support_counts(special: Special, support: str) -> None:
    """618.33: a leader that is not enabled answers and counts for a worker that is; with a plain producer where its
    support is disabled. Its own task has no transactions."""
    probe = special(support=(support, "enabled"), leader="w0")
    tasks = probe.spread()
    probe.shows(probe.sets_and_counts, ["set of 2", "count 2"])
    topic = f"{probe.cluster.group}-configs"
    produced = probe.seen.since(api="Produce", error=0)
    written = [each for each in produced if any(place[0] == topic for place in each["places"])]
    assert {each["worker"] for each in written} == {"w0"}
    assert {each["producer_id"] == -1 for each in written} == {support == "disabled"}
    opened = {each["transactional_id"] for each in probe.seen.since(api="InitProducerId")}
    mine, other = (next(t.task for t in tasks.values() if t.worker == name) for name in ("w0", "w1"))
    leads = f"connect-cluster-{probe.cluster.group}"
    assert opened == {probe.id(other), *([leads] if support == "preparing" else [])}
    assert probe.id(mine) not in opened


def test_what_a_stuck_flush_has_is_not_told(special: Special) -> None:
    """src.1: at-least-once; while a flush of offsets does not end, SourceTask.commit is not called, although the flush
    may be given up and begun anew. What was given up is written all the same, and again. Where its wait ends in the
    very millisecond that it is over, `SetCallbackFuture.get` waits once more, for 0 ms, which is for ever in Java."""
    settings = PATIENT | {"offset.flush.interval.ms": 300, "offset.flush.timeout.ms": 1_000}
    probe = special(support="disabled", size=1, settings=settings)
    probe.configure(1)
    probe.hold_polls()
    flush = probe.cluster.proxies["w0"].hold_next("Produce", client="connect-w0-offsets")
    probe.commits(probe.polls(), "0:1")
    # A record is acknowledged after commitRecord. The thread of its task takes what may be flushed, between polls.
    probe.let_go()
    flush.wait()
    begun = len(probe.seen.lines)
    time.sleep(STUCK_S)
    given_up = probe.times("w0", "Timed out waiting to flush offsets to storage") > 0
    assert list(probe.seen.since(begun, call="commit", connector=probe.name)) == []
    flush.release()
    probe.control.wait_for("commit", DUE_S, connector=probe.name, since=begun)
    assert probe.offsets()[: 1 + given_up] == [1] * (1 + given_up)


def test_a_round_survives_the_coordinator(special: Special) -> None:
    """618.12: the coordinator of an id is killed in the round that fences it. The round waits for the next one."""
    probe = special(brokers=3)
    probe.configure(2)
    late = probe.hold_fence(1, probe.cluster.leads())
    probe.ask(2)
    late.wait()
    asking = Brokers(probe.cluster.kafka.bootstrap, DUE_S)
    node = asking.coordinator(TRANSACTION, probe.id(1))
    asking.close()
    probe.cluster.kafka.kill(node)
    late.release()
    probe.cluster.wait_until_polled(probe.name)
    probe.shows(probe.sets_and_counts, ["set of 2", "count 2"] * 2)
