"""Records of the config topic have keys and values, and names may contain dashes."""

import json

import pytest
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import ConfigRecord, Parsed, parse, parse_key

NAMES = ("c", "reddit-source", "a-1", "task-x", "connector-y", "tasks-count-z", "0", "-", "söurce")


def test_count_record_is_as_the_documents_say():
    """618.1: In the documents' revisions "tasks-count-reddit-source" has the value {"tasks": 11}."""
    for mode in ("A", "M", "B"):
        assert config_records.count_record(mode, "reddit-source", 11) == ("tasks-count-reddit-source", '{"tasks":11}')


def test_count_record_is_as_shipped():
    """618.1: As shipped the key is "tasks-fencing-reddit-source" and the field "task-count"."""
    assert config_records.count_record("shipped", "reddit-source", 11) == (
        "tasks-fencing-reddit-source",
        '{"task-count":11}',
    )


def test_a_set_has_task_records_and_a_commit_record():
    """618.3: A set of task configurations has these keys and values."""
    assert config_records.task_record("c", 0, {"table": "t"}) == ("task-c-0", '{"properties":{"table":"t"}}')
    assert config_records.commit_record("c", 2) == ("commit-c", '{"tasks":2}')
    assert config_records.connector_record("c", {"tasks.max": "2"}) == (
        "connector-c",
        '{"properties":{"tasks.max":"2"}}',
    )


def test_older_workers_read_stopped_as_paused():
    """A state that older versions do not know is written in two fields."""
    value = json.loads(config_records.target_state_record("c", "STOPPED").value)
    assert value == {"state": "PAUSED", "state.v2": "STOPPED"}


def test_unknown_target_state_is_refused():
    with pytest.raises(ValueError, match="must be one of STARTED, PAUSED, STOPPED"):
        config_records.target_state_record("c", "GONE")


@pytest.mark.parametrize("name", NAMES)
def test_names_with_dashes_come_back(name):
    """618.49: Each key is parsed back to its kind and name, whatever the name."""
    assert parse_key(config_records.connector_record(name, {}).key) == (config_records.CONNECTOR, name, -1)
    assert parse_key(config_records.task_record(name, 7, {}).key) == (config_records.TASK, name, 7)
    assert parse_key(config_records.commit_record(name, 1).key) == (config_records.COMMIT, name, -1)
    assert parse_key(config_records.target_state_record(name, "STARTED").key) == (config_records.TARGET_STATE, name, -1)
    for mode in ("A", "shipped"):
        assert parse_key(config_records.count_record(mode, name, 1).key) == (config_records.COUNT, name, -1)


def test_the_last_dash_separates_the_task():
    assert parse_key("task-a-1") == (config_records.TASK, "a", 1)
    assert parse_key("task-a-1-0") == (config_records.TASK, "a-1", 0)


@pytest.mark.parametrize(
    "key", ["logger-cluster-org", "restart-connector-c", "task-c-x", "task-c", "task--1", "commit-", ""]
)
def test_other_keys_are_left_alone(key):
    assert parse(ConfigRecord(key, "{}")) == Parsed(config_records.OTHER, "", -1, {})


def test_tombstones_have_no_value():
    """618.38: The tombstones of a connector and the rejected one of its count have no value."""
    assert parse(config_records.connector_tombstone("c")) == Parsed(config_records.CONNECTOR, "c", -1, None)
    assert parse(config_records.count_tombstone("B", "c")) == Parsed(config_records.COUNT, "c", -1, None)
    assert parse(config_records.count_tombstone("shipped", "c")).value is None
    assert parse(config_records.target_state_tombstone("c")) == Parsed(config_records.TARGET_STATE, "c", -1, None)


@pytest.mark.parametrize("value", ["{", "[1]", '"x"'])
def test_a_value_that_is_no_object_is_refused(value):
    with pytest.raises(ValueError, match="config record 'commit-c': value"):
        parse(ConfigRecord("commit-c", value))


@pytest.mark.parametrize("value", [{}, {"tasks": "2"}, {"task-count": -1}, {"tasks": True}])
def test_a_count_is_a_whole_number(value):
    """618.1: A count is a whole number from 0, under either field name."""
    assert config_records.count_in({"tasks": 3}) == config_records.count_in({"task-count": 3}) == 3
    with pytest.raises(ValueError, match="a whole number from 0"):
        config_records.count_in(value)


def test_session_key_has_its_three_fields():
    """618.10: The record has key, algorithm and time, under a key without any connector."""
    record = config_records.session_key_record("AAEC", "HmacSHA256", 5)
    value = {"key": "AAEC", "algorithm": "HmacSHA256", "creation-timestamp": 5}
    assert parse(record) == Parsed(config_records.SESSION_KEY, "", -1, value)
