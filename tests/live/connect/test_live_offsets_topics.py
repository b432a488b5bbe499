"""A connector is given an offsets topic of its own, or loses it, on a live cluster of Kafka Connect.

When one of these fails, Kafka is mended, and the finding has to say so.
"""

from __future__ import annotations

import pytest
from connect_probe import Probe

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_an_own_offsets_topic_hides_the_workers_live(probe: Probe) -> None:
    """618.31, 618.P2: the connector has an offset in the worker's topic, and is given a topic of its own. Its task
    finds no offset, begins anew, and what it had committed is committed again. (ConnectorOffsetBackingStore.get
    promises the worker's offset where its own topic has none.)"""
    task = probe.configure(1)[0]
    polls = probe.hold_polls()
    probe.commits(probe.polls(instance=task.name), "0:1", records="0:3")
    probe.control.wait_for("commitRecord", instance=task.name, record="0:3")
    probe.shows(probe.offsets, [3])
    polls.end()
    probe.configure(1, offsets__storage__topic=f"{probe.name}-offsets")
    probe.hold_polls()
    again = probe.polls()
    assert again.instance != task.name
    assert probe.found(again) == "0:0"
    probe.commits(again, "0:1")
    probe.shows(probe.keys, ["0:1", "0:2", "0:3", "0:1"])


def test_the_workers_copy_comes_before_the_commit_live(probe: Probe) -> None:
    """618.31, 618.P2: the copy of an offset for the worker's topic is there before its transaction is committed, and
    then that is aborted: its worker is removed from the group before EndTxn arrives, and another one takes the task
    over. Without its own topic the task begins behind records that were never committed: they are lost.
    (ConnectorOffsetBackingStore.setPrimaryThenSecondary)"""
    own = f"{probe.name}-offsets"
    task = probe.configure(1, offsets__storage__topic=own)[0]
    polls = probe.hold_polls()
    probe.commits(probe.polls(instance=task.name), "0:1")
    commit = probe.cluster.proxies[task.worker].hold_next("EndTxn", probe.id(0))
    probe.polls(instance=task.name).answer(records="0:2")
    commit.wait()
    probe.cluster.wait_for("copy of the offset", lambda: probe.offsets()[-1:] == [3])
    probe.shows(probe.keys, ["0:1"])

    polls.end()
    leader = probe.put_out(task.worker)
    probe.cluster.wait_until_polled(probe.name)
    probe.shows(lambda: probe.offsets(own), [1])
    probe.configure(1, leader)
    probe.hold_polls(lambda call: call.instance != task.name)
    without = probe.polls()
    assert probe.found(without) == "0:3"
    probe.commits(without, "0:4")
    probe.shows(probe.keys, ["0:1", "0:4"])
    probe.come_back(task.worker)
    commit.release()
    assert commit.answer().error_code
    probe.shows(probe.keys, ["0:1", "0:4"])


@pytest.mark.nightly
def test_an_open_transaction_holds_up_every_start(probe: Probe) -> None:
    """618.32: while a transaction is open on the offsets topic of the worker, no other connector and no task of it
    starts; those that run already commit. It ends with the transaction, at the latest when that is timed out."""
    task = probe.configure(1)[0]
    running, starting = probe.another(f"{probe.name}-running"), probe.another(f"{probe.name}-starting")
    running.configure(1)
    running.hold_polls()
    probe.hold_polls()
    commit = probe.cluster.proxies[task.worker].hold_next("EndTxn", probe.id(0))
    probe.polls(instance=task.name).answer(records="0:1")
    commit.wait()
    begun = starting.ask(1)
    for record in ("0:1", "0:2", "0:3"):
        running.commits(running.polls(), record)
    assert list(probe.seen.since(begun, call="start", connector=starting.name)) == []
    commit.release()
    assert commit.answer().error_code == 0
    probe.cluster.wait_until_polled(starting.name)
