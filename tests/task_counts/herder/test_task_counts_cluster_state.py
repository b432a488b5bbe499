"""A worker's view of the config topic decides what takes effect when, and what needs fencing."""

import itertools

import pytest
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import NOTHING, ClusterConfigState, compacted


def new_set(tasks, name="c"):
    tasks_of_set = [config_records.task_record(name, n, {"n": str(n)}) for n in range(tasks)]
    return [*tasks_of_set, config_records.commit_record(name, tasks)]


def count(number, name="c"):
    return config_records.count_record("B", name, number)


CREATE = config_records.connector_record("c", {"tasks.max": "2"})
DELETE = config_records.connector_tombstone("c")


def view(*topic, places=None):
    """Return the state of a worker that has read these records."""
    state = ClusterConfigState()
    for offset, record in zip(places or itertools.count(), topic, strict=False):
        state.apply(record, offset)
    return state


def test_a_set_takes_effect_at_its_commit_record():
    """618.3: A set is absent before its commit record, whose offset is the set's place."""
    before = view(CREATE, *new_set(2)[:-1])
    assert (before.tasks("c"), before.set_place("c"), before.needs_fencing("c")) == (0, NOTHING, False)
    after = view(CREATE, *new_set(2))
    assert (after.tasks("c"), after.set_place("c"), after.needs_fencing("c")) == (2, 3, True)
    assert after.task_properties("c", 1) == {"n": "1"}
    assert after.task_properties("c", 2) is None


def test_first_example_of_the_documents():
    """618.2: After tasks, commit and count, workers may run the tasks."""
    state = view(CREATE, *new_set(2), count(2))
    assert (state.may_run("c"), state.count("c"), state.count_place("c")) == (True, 2, 4)


def test_second_example_of_the_documents():
    """618.2, 618.4: After count, tasks and commit, the tasks may not run, and a round is needed."""
    state = view(CREATE, count(2), *new_set(2))
    assert (state.may_run("c"), state.needs_fencing("c"), state.count("c")) == (False, True, 2)


def test_without_a_count_record_nothing_may_run():
    """618.2: Without any count record no task may run."""
    state = view(CREATE, *new_set(1))
    assert (state.may_run("c"), state.count("c"), state.count_place("c")) == (False, None, NOTHING)


def test_the_latest_count_record_counts():
    """618.6: An older, larger count has no effect."""
    state = view(CREATE, *new_set(3), count(3), *new_set(1), count(1))
    assert (state.count("c"), state.may_run("c")) == (1, True)


def test_generations_are_counted_from_zero():
    """618.19: The generation grows by one for every set that takes effect."""
    assert view(CREATE).generation("c") == -1
    assert [view(CREATE, *new_set(1), *new_set(2)[:n]).generation("c") for n in range(4)] == [0, 0, 0, 1]


def test_an_incomplete_set_does_not_take_effect():
    """618.3: If a task is missing before the commit record, nothing is applied, and the connector is inconsistent."""
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
    """618.3: The buffered tasks of an incomplete set are dropped, and a set with all its tasks takes effect."""
    broken = (CREATE, config_records.task_record("c", 1, {"n": "old"}), config_records.commit_record("c", 2))
    state = view(*broken, config_records.task_record("c", 0, {"n": "0"}), config_records.commit_record("c", 2))
    assert state.inconsistent == {"c"}
    state = view(*broken, *new_set(2))
    assert (state.inconsistent, state.tasks("c"), state.set_place("c")) == (set(), 2, 5)


def test_tasks_beyond_the_committed_number_are_tolerated():
    state = view(CREATE, *new_set(2)[:2], config_records.commit_record("c", 1))
    assert (state.tasks("c"), state.generation("c")) == (1, 0)


def test_a_commit_record_of_an_unknown_connector_is_dropped():
    state = view(*new_set(2))
    assert not state.needs_fencing("c")
    assert state.buffered == {}
    assert (state.tasks("c"), state.generation("c")) == (0, -1)


def test_deletion_keeps_count_and_need_of_fencing():
    """618.38, B34: The tasks of the deleted connector may be alive when it is created again."""
    state = view(CREATE, *new_set(2), count(2), DELETE)
    assert (state.is_known("c"), state.tasks("c"), state.set_place("c")) == (False, 0, NOTHING)
    assert (state.count("c"), state.generation("c"), state.needs_fencing("c")) == (2, 0, False)
    again = view(CREATE, *new_set(2), count(2), DELETE, CREATE, *new_set(1))
    assert (again.count("c"), again.generation("c"), again.needs_fencing("c")) == (2, 1, True)
    unfenced = view(CREATE, *new_set(2), DELETE)
    assert unfenced.needs_fencing("c")


def test_a_stopped_connector_has_a_set_of_no_tasks():
    """618.42: A set of no tasks takes effect with count 0, but is no new generation if there never was a task."""
    state = view(CREATE, *new_set(2), count(2), *new_set(0), count(0))
    assert (state.tasks("c"), state.generation("c"), state.count("c"), state.may_run("c")) == (0, 1, 0, True)
    assert view(CREATE, *new_set(0)).generation("c") == -1


def test_a_tombstone_of_the_count_forgets_it():
    """618.38: After the rejected tombstone nothing is known of the producers."""
    state = view(CREATE, *new_set(2), count(2), config_records.count_tombstone("B", "c"))
    assert (state.count("c"), state.may_run("c")) == (None, False)


def test_connectors_do_not_disturb_one_another():
    """618.9: One connector may need a round while another does not."""
    other = config_records.connector_record("d", {})
    state = view(CREATE, other, *new_set(1), *new_set(2, "d"), count(1))
    assert (state.needs_fencing("c"), state.needs_fencing("d")) == (False, True)
    assert state.names() == ["c", "d"]


def test_target_state_and_session_key_are_remembered():
    """The target state is STARTED by default, and the latest session key counts."""
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
    """A record before the next expected offset is refused, but compaction may leave gaps."""
    state = view(CREATE, *new_set(1), places=[0, 4, 9])
    assert (state.offset, state.set_place("c")) == (10, 9)
    with pytest.raises(ValueError, match="at offset 9: the next one to read is 10"):
        state.apply(CREATE, 9)


TOPIC = list(enumerate([CREATE, *new_set(2), count(2), *new_set(1), count(1), DELETE]))


def test_compaction_keeps_the_last_of_every_key_in_place():
    """618.2: Compaction preserves offsets, and so the order of commit record and count record."""
    assert [offset for offset, _ in compacted(TOPIC[:-1])] == [0, 2, 5, 6, 7]
    places, left = zip(*compacted(TOPIC[:-1]), strict=True)
    assert view(*left, places=places).may_run("c")


def test_compaction_drops_tombstones_unless_retained():
    assert [offset for offset, _ in compacted(TOPIC)] == [2, 5, 6, 7]
    assert [offset for offset, _ in compacted(TOPIC, keep_tombstones=True)] == [2, 5, 6, 7, 8]
    places, left = zip(*compacted(TOPIC), strict=True)
    state = view(*left, places=places)
    assert (state.names(), state.count("c"), state.needs_fencing("c")) == ([], 1, False)


def test_compaction_leaves_the_end_alone():
    """Records from `upto` on (the active segment) stay, and make nothing older superfluous."""
    assert [offset for offset, _ in compacted(TOPIC[:-1], upto=6)] == [0, 2, 3, 4, 5, 6, 7]
    assert compacted([]) == []


def test_generations_differ_after_compaction():
    """618.19: A reader of the compacted topic counts fewer generations, so they compare within one worker only."""
    places, left = zip(*compacted(TOPIC[:-1]), strict=True)
    assert view(*(record for _, record in TOPIC[:-1])).generation("c") == 1
    assert view(*left, places=places).generation("c") == 0


def test_compaction_between_a_set_and_its_commit_record_leaves_it_inconsistent():
    """618.3: The older commit record is read without its tasks until the newer one follows."""
    half = TOPIC[:6]
    places, left = zip(*compacted(half), strict=True)
    assert places == (0, 2, 3, 4, 5)
    assert view(*left, places=places).inconsistent == {"c"}
    state = view(*left, config_records.commit_record("c", 1), places=[*places, 6])
    assert (state.inconsistent, state.set_place("c")) == (set(), 6)
