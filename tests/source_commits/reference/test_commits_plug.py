"""What a driven source task does, rule by rule; the text of the proposal is quoted where it says so."""

import pytest
from fencepost.properties.source_commits.interface import OPERATIONS, OUTCOMES
from fencepost.properties.source_commits.scenarios.known import COMMITTER, TASK, Script
from fencepost.reference_impl.connect.commits.config import MODES, Config
from fencepost.reference_impl.systems.source_commits import reference


def script(**config):
    """A task that has read its offsets."""
    made = Script.of_reference(**config)
    made.begin()
    return made


def reported(events):
    """The maps of all calls of commit; None where it was called without."""
    maps = []
    for event in events:
        if event.kind == "told":
            maps.append({} if event.entries >= 0 else None)
        elif event.kind == "told_offset":
            maps[-1][event.partition] = event.offset
    return maps


def test_no_order_across_outputs():
    """src.1: 'KafkaProducer Thread might invoke commitRecord(*) for B3 before invoking it for A1.' Each is called for
    once, and nothing is committable before the first."""
    task = script(batch=4, outputs=2)
    task.poll()
    while len(task.waiting("record")) > 1:
        task.arrive("record", 1)
    task.poll()
    assert not task.kinds("committable")
    task.all_arrive("record")
    task.poll()
    acknowledged = [event.record for event in task.kinds("acknowledged")]
    assert sorted(acknowledged) == [1, 2, 3, 4, 5, 6][: len(acknowledged)] and acknowledged != sorted(acknowledged)
    assert [event.offset for event in task.kinds("committable")][-1] == max(acknowledged)


@pytest.mark.rule("src.1")
def test_commit_record_is_called_once_for_each_record():
    """src.1: with metadata for each that is in Kafka, once; without for one that failed and was given up."""
    task = script(batch=6, outputs=2, tolerance="all")
    task.poll()
    task.arrive("record", 1, "failed")
    task.all_arrive("record")
    task.poll()
    acknowledged, given_up = ([event.record for event in task.kinds(kind)] for kind in ("acknowledged", "given_up"))
    assert len(given_up) == 1
    assert sorted([*acknowledged, *given_up]) == [1, 2, 3, 4, 5, 6]


def test_commit_comes_after_its_flush():
    """src.4: 'If offsets are written to offsets-topic successfully, this thread will invoke task.commit().'"""
    task = script()
    task.poll()
    task.all_arrive()
    task.poll()
    task.commit()
    kinds = [e.kind for e in task.seen() if e.kind in ("flush_begun", "offset_written", "flush_ended", "told")]
    assert kinds == ["flush_begun", "offset_written", "flush_ended", "told"]
    assert reported(task.seen()) == [{0: 2}]


def test_commit_is_called_where_there_was_nothing_to_flush():
    """src.5, H7c: with an empty map, which says nothing anew."""
    task = script()
    task.commit()
    assert reported(task.seen()) == [{}]
    assert not task.kinds("discarded")


def test_the_map_has_what_an_earlier_flush_did_not_write():
    """src.5, H7a: all that the flush has written, and not only what was taken for it."""
    task = script(partitions=2, batch=2)
    task.poll()
    task.all_arrive()
    task.poll()
    task.system.commit_due()
    task.before("finish", COMMITTER)
    task.one(COMMITTER, "failed")
    task.commit()
    assert reported(task.seen()) == [{0: 1, 1: 1}]


@pytest.mark.rule("src.6")
def test_existing_tasks_behave_as_before():
    """src.6: the default of commit(map) calls commit(): a connector that does not look at the map does the same with
    either."""
    without, given = (
        [
            event[3:] if event.kind != "told" else event[3:5]
            for event in played(upstream="looked-up", argument=argument)
            if event.kind != "told_offset"
        ]
        for argument in (False, True)
    )
    assert without == given


def played(**config):
    """The events of a task that reads everything, and commits in between."""
    task = script(partitions=2, **config)
    for _ in range(6):
        task.poll()
        task.all_arrive()
        task.commit()
    return task.seen()


@pytest.mark.rule("src.7")
def test_an_exception_of_commit_is_ignored():
    """src.7: 'Exceptions thrown by this method will be logged and ignored, and will not result in task failure.'"""
    task = script()
    task.poll()
    task.all_arrive()
    task.poll()
    task.system.commit_due()
    task.before("finish", COMMITTER)
    task.all_arrive()
    task.before("tell", COMMITTER)
    task.one(COMMITTER, "failed")
    assert task.count("telling_failed") == 1 and not task.kinds("discarded")
    task.poll()
    task.all_arrive()
    task.poll()
    task.commit()
    assert not task.kinds("stopping")
    assert reported(task.seen()) == [{0: 2}, {0: 6}]


@pytest.mark.rule("src.9")
def test_only_its_own_offsets():
    """src.9: the next instance is told of what it has committed itself, although more is stored."""
    task = script(partitions=2, batch=1)
    task.poll(2)
    task.all_arrive()
    task.poll()
    task.commit()
    task.system.kill()
    task.begin()
    task.poll()
    task.arrive()
    task.poll()
    task.commit()
    assert [event.offset for event in task.kinds("resumed")] == [0, 0, 1, 1]
    assert reported(task.seen()) == [{0: 1, 1: 1}, {0: 2}]


def test_a_refused_record_is_sent_again():
    """src.11: it is tracked no more, its successors wait, and it is acknowledged once in the end."""
    task = script(batch=2)
    task.before("send")
    task.one(TASK, "failed")
    task.poll()
    task.go_on()
    assert [(e.kind, e.record) for e in task.kinds("submitted", "dropped")][:4] == [
        ("submitted", 1), ("dropped", 1), ("submitted", 1), ("submitted", 2),
    ]  # fmt: skip
    assert sorted(event.record for event in task.kinds("acknowledged")) == [1, 2, 3, 4, 5, 6]


def test_a_tolerated_failure_is_committed():
    """src.11: the record is given up, and its offset is stored with those behind it."""
    task = script(tolerance="all")
    task.poll()
    task.arrive("record", 0, "failed")
    task.all_arrive()
    task.poll()
    task.commit()
    assert [event.record for event in task.kinds("given_up")] == [1]
    assert task.system.audit() == ([(0, 2)], [2])


def test_any_other_failure_ends_the_task():
    """It is never acknowledged: the final commit waits for it in vain, and a restart begins with it."""
    task = script(batch=3)
    task.poll()
    task.arrive("record", 1, "failed")
    task.all_arrive()
    task.before("drain")
    assert not task.one(TASK)  # it waits
    task.one(TASK, "failed")
    task.go_on()
    assert [event.outcome for event in task.kinds("drained")] == [0]
    assert task.count("instance_failed") == 1
    first = next(event.record for event in task.kinds("send_failed"))
    task.begin()
    assert [event.offset for event in task.kinds("resumed")][-1] == first - 1


def test_the_final_commit_waits():
    """src.12: until all is acknowledged."""
    task = script()
    task.poll()
    task.system.stop()
    task.before("drain")
    assert not task.one(TASK)
    task.all_arrive()
    task.thread("drained")
    task.before("finish")
    task.all_arrive()
    task.thread("instance_stopped")
    assert [event.outcome for event in task.kinds("drained")] == [1]
    assert reported(task.seen()) == [{0: max(event.record for event in task.kinds("submitted"))}]


def test_a_transaction_is_told_of_when_it_is_committed():
    """In a task with transactions the map is what the transaction has committed; of one that failed nothing is said."""
    task = script(mode="proposed-exactly-once")
    task.before("commit")
    assert not task.one(TASK)  # it waits for its records
    task.all_arrive()
    task.thread("told")
    assert reported(task.seen()) == [{0: 2}]
    task.before("commit")
    task.all_arrive()
    task.one(TASK, "failed")
    task.thread("instance_failed")
    task.begin()
    assert reported(task.seen()) == [{0: 2}]
    assert [event.outcome for event in task.kinds("transaction_aborted")] == [0]
    assert [event.offset for event in task.kinds("resumed")][-1] == 2


def test_an_aborted_batch_is_told_of_when_its_offsets_are_committed():
    """Its records are given up, and never polled again."""
    task = script(mode="proposed-exactly-once")
    task.system.abort()
    task.before("flush")
    assert [event.record for event in task.kinds("given_up")] == [1, 2]
    assert not task.kinds("told")
    task.thread("told")
    assert reported(task.seen()) == [{0: 2}]
    assert task.system.audit() == ([], [2])


@pytest.mark.parametrize("mode", MODES)
def test_what_waits_is_what_the_interface_says(mode):
    """Operations and outcomes by name, in every mode."""
    task = Script.of_reference(mode=mode, partitions=2)
    task.system.start()
    seen = set()
    for turn in range(60):
        if turn % 10 == 5:
            task.system.commit_due()
        if turn == 40:
            task.system.stop()
        for number, operation, *_ in task.system.threads():
            seen.add(operation)
            if number in [waiting[0] for waiting in task.system.threads()]:
                task.system.step(number, OUTCOMES[0])
    assert seen <= set(OPERATIONS)
    assert {"start", "poll", "send", "record", "tell", "close"} <= seen


def test_bad_configurations_are_refused():
    """With what is wrong."""
    with pytest.raises(ValueError, match="partitions=0: must be at least 1"):
        reference({"partitions": 0})
    with pytest.raises(ValueError, match="says nothing of offsets"):
        Config.parse({"argument": False})
    with pytest.raises(ValueError, match="is of another protocol"):
        Config.parse({"mode": "proposed-exactly-once", "zombies": True})


def test_nothing_waits_twice():
    """A number is of one thing, and gone with it."""
    task = script()
    number = task.system.threads()[0][0]
    task.system.step(number)
    with pytest.raises(KeyError, match=f"nothing of number {number} waits"):
        task.system.step(number)
