"""A worker's view of the config topic: what takes effect when, and what needs fencing."""

import itertools

import pytest
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import NOTHING, ClusterConfigState, compacted


def new_set(tasks, name="c"):
    """The records of one set."""
    tasks_of_set = [config_records.task_record(name, n, {"n": str(n)}) for n in range(tasks)]
    return [*tasks_of_set, config_records.commit_record(name, tasks)]


def count(number, name="c"):
    return config_records.count_record("B", name, number)


CREATE = config_records.connector_record("c", {"tasks.max": "2"})
DELETE = config_records.connector_tombstone("c")


def view(*topic, places=None):
    """A worker that has read these records."""
    state = ClusterConfigState()
    for offset, record in zip(places or itertools.count(), topic, strict=False):
        state.apply(record, offset)
    return state


def test_a_set_takes_effect_at_its_commit_record():
    """618.3: before it, the set is as if absent; its place is its commit record's."""
    before = view(CREATE, *new_set(2)[:-1])
    assert (before.tasks("c"), before.set_place("c"), before.needs_fencing("c")) == (0, NOTHING, False)
    after = view(CREATE, *new_set(2))
    assert (after.tasks("c"), after.set_place("c"), after.needs_fencing("c")) == (2, 3, True)
    assert after.task_properties("c", 1) == {"n": "1"}
    assert after.task_properties("c", 2) is None


def test_first_example_of_the_documents():
    """618.2: tasks, commit, count: workers may run the tasks."""
    state = view(CREATE, *new_set(2), count(2))
    assert (state.may_run("c"), state.count("c"), state.count_place("c")) == (True, 2, 4)


def test_second_example_of_the_documents():
    """618.2, 618.4: count, tasks, commit: they may not, and a round is needed."""
    state = view(CREATE, count(2), *new_set(2))
    assert (state.may_run("c"), state.needs_fencing("c"), state.count("c")) == (False, True, 2)


def test_without_a_count_record_nothing_may_run():
    """618.2: no record at all."""
    state = view(CREATE, *new_set(1))
    assert (state.may_run("c"), state.count("c"), state.count_place("c")) == (False, None, NOTHING)


def test_the_latest_count_record_counts():
    """618.6: an older, larger one does not."""
    state = view(CREATE, *new_set(3), count(3), *new_set(1), count(1))
    assert (state.count("c"), state.may_run("c")) == (1, True)


def test_generations_are_counted_from_zero():
    """618.19: one more for every set that takes effect."""
    assert view(CREATE).generation("c") == -1
    assert [view(CREATE, *new_set(1), *new_set(2)[:n]).generation("c") for n in range(4)] == [0, 0, 0, 1]


def test_an_incomplete_set_does_not_take_effect():
    """618.3: with a task missing before its commit record nothing is applied, and the connector is inconsistent."""
    state = view(
        CREATE,
        *new_set(2),
        count(2),
        config_records.task_record("c", 1, {"n": "new"}),
        config_records.commit_record("c", 2),
    )
    assert state.inconsistent == {"c"}
    assert (state.generation("c"), state.set_place("c"), state.tasks("c")) == (0, 3, 0)
    assert state.needs_fencing("c")


def test_the_next_whole_set_ends_the_inconsistency():
    """618.3: what was buffered of the incomplete one is gone; a set with all its tasks takes effect."""
    broken = (CREATE, config_records.task_record("c", 1, {"n": "old"}), config_records.commit_record("c", 2))
    state = view(*broken, config_records.task_record("c", 0, {"n": "0"}), config_records.commit_record("c", 2))
    assert state.inconsistent == {"c"}
    state = view(*broken, *new_set(2))
    assert (state.inconsistent, state.tasks("c"), state.set_place("c")) == (set(), 2, 5)


def test_tasks_beyond_the_committed_number_are_tolerated():
    """A set of one task after records of two."""
    state = view(CREATE, *new_set(2)[:2], config_records.commit_record("c", 1))
    assert (state.tasks("c"), state.generation("c")) == (1, 0)


def test_a_commit_record_of_an_unknown_connector_is_dropped():
    """No round is needed for it, and what was buffered is gone."""
    state = view(*new_set(2))
    assert not state.needs_fencing("c")
    assert state.buffered == {}
    assert (state.tasks("c"), state.generation("c")) == (0, -1)


def test_deletion_keeps_count_and_need_of_fencing():
    """618.38, B34: the tasks of the deleted connector may be alive when it is created again."""
    state = view(CREATE, *new_set(2), count(2), DELETE)
    assert (state.is_known("c"), state.tasks("c"), state.set_place("c")) == (False, 0, NOTHING)
    assert (state.count("c"), state.generation("c"), state.needs_fencing("c")) == (2, 0, False)
    again = view(CREATE, *new_set(2), count(2), DELETE, CREATE, *new_set(1))
    assert (again.count("c"), again.generation("c"), again.needs_fencing("c")) == (2, 1, True)
    unfenced = view(CREATE, *new_set(2), DELETE)
    assert unfenced.needs_fencing("c")


def test_a_stopped_connector_has_a_set_of_no_tasks():
    """618.42: such a set takes effect, and counts 0; without any task ever it is no new generation."""
    state = view(CREATE, *new_set(2), count(2), *new_set(0), count(0))
    assert (state.tasks("c"), state.generation("c"), state.count("c"), state.may_run("c")) == (0, 1, 0, True)
    assert view(CREATE, *new_set(0)).generation("c") == -1


def test_a_tombstone_of_the_count_forgets_it():
    """618.38, rejected: then nothing is known of the producers."""
    state = view(CREATE, *new_set(2), count(2), config_records.count_tombstone("B", "c"))
    assert (state.count("c"), state.may_run("c")) == (None, False)


def test_connectors_do_not_disturb_one_another():
    """618.9: one needs a round, the other does not."""
    other = config_records.connector_record("d", {})
    state = view(CREATE, other, *new_set(1), *new_set(2, "d"), count(1))
    assert (state.needs_fencing("c"), state.needs_fencing("d")) == (False, True)
    assert state.names() == ["c", "d"]


def test_target_state_and_session_key_are_remembered():
    """What a user wants, STARTED if nothing is said, and the latest key."""
    key = config_records.session_key_record("AA==", "HmacSHA256", 1)
    state = view(CREATE, config_records.target_state_record("c", "STOPPED"), key)
    assert state.target_state("c") == "STOPPED"
    assert state.target_state("d") == "STARTED"
    assert state.session_key == {"key": "AA==", "algorithm": "HmacSHA256", "creation-timestamp": 1}
    assert (
        view(
            CREATE, config_records.target_state_record("c", "STOPPED"), config_records.target_state_tombstone("c")
        ).target_state("c")
        == "STARTED"
    )


def test_reading_goes_forward_only():
    """A record before the next expected one is refused; a gap is what compaction leaves."""
    state = view(CREATE, *new_set(1), places=[0, 4, 9])
    assert (state.offset, state.set_place("c")) == (10, 9)
    with pytest.raises(ValueError, match="at offset 9: the next one to read is 10"):
        state.apply(CREATE, 9)


TOPIC = list(enumerate([CREATE, *new_set(2), count(2), *new_set(1), count(1), DELETE]))


def test_compaction_keeps_the_last_of_every_key_in_place():
    """Offsets stay, and so does the order of commit record and count record (618.2)."""
    assert [offset for offset, _ in compacted(TOPIC[:-1])] == [0, 2, 5, 6, 7]
    places, left = zip(*compacted(TOPIC[:-1]), strict=True)
    assert view(*left, places=places).may_run("c")


def test_compaction_drops_tombstones_unless_retained():
    """A connector deleted long ago has left its count record only, beside what nobody applies."""
    assert [offset for offset, _ in compacted(TOPIC)] == [2, 5, 6, 7]
    assert [offset for offset, _ in compacted(TOPIC, keep_tombstones=True)] == [2, 5, 6, 7, 8]
    places, left = zip(*compacted(TOPIC), strict=True)
    state = view(*left, places=places)
    assert (state.names(), state.count("c"), state.needs_fencing("c")) == ([], 1, False)


def test_compaction_leaves_the_end_alone():
    """What stands from `upto` on (the active segment) is not touched, and makes nothing older superfluous."""
    assert [offset for offset, _ in compacted(TOPIC[:-1], upto=6)] == [0, 2, 3, 4, 5, 6, 7]
    assert compacted([]) == []


def test_generations_differ_after_compaction():
    """618.19: who reads the compacted topic counts fewer, so that generations compare within one worker only."""
    places, left = zip(*compacted(TOPIC[:-1]), strict=True)
    assert view(*(record for _, record in TOPIC[:-1])).generation("c") == 1
    assert view(*left, places=places).generation("c") == 0


def test_compaction_between_a_set_and_its_commit_record_leaves_it_inconsistent():
    """618.3: the older commit record is read without its tasks, until the newer one follows."""
    half = TOPIC[:6]
    places, left = zip(*compacted(half), strict=True)
    assert places == (0, 2, 3, 4, 5)
    assert view(*left, places=places).inconsistent == {"c"}
    state = view(*left, config_records.commit_record("c", 1), places=[*places, 6])
    assert (state.inconsistent, state.set_place("c")) == (set(), 6)
