"""Permissions and topics of source tasks (618.37, 618.29): the tables of both texts are complete, and needed."""

import pytest
from fencepost.properties.source_offsets.scenarios.known import Script
from fencepost.reference_impl.connect.brokers import Permission
from fencepost.reference_impl.connect.offsets.kafka import EARLIER, LATER, table
from fencepost.reference_impl.connect.offsets.stores import Choice
from fencepost.reference_impl.systems.source_offsets import Parts

NAMES = {"output": "output", "offsets": "own-offsets", "config": "configs"}
OF_IDS = [(operation, f"connect-source-{task}") for operation in ("Describe", "Write") for task in (0, 1)]


def rows(text, **more):
    """(principal, operation, resource type) and the resource, as the table of a text has them."""
    return {tuple(permission) for permission in table(text, "connect", "source", 2, **NAMES, **more)}


def test_the_tables_of_both_texts():
    """Row by row: worker's producer, connector's producer, consumer and admin."""
    common = {
        ("worker-producer", "Describe", "TransactionalId", "connect-cluster-connect"),
        ("worker-producer", "Write", "TransactionalId", "connect-cluster-connect"),
        ("worker-producer", "IdempotentWrite", "Cluster", "kafka-cluster"),
        ("worker-producer", "Write", "Topic", "configs"),
        *(("connector-producer", operation, "TransactionalId", name) for operation, name in OF_IDS),
        ("connector-producer", "Write", "Topic", "output"),
        ("connector-producer", "Write", "Topic", "own-offsets"),
        ("connector-consumer", "Read", "Topic", "own-offsets"),
        ("connector-admin", "Describe", "Topic", "own-offsets"),
    }  # fmt: skip
    fencing = {("connector-admin", operation, "TransactionalId", name) for operation, name in OF_IDS}
    assert rows(EARLIER) == common
    assert rows(LATER) == common | fencing
    assert rows(LATER, exists=False) - rows(LATER) == {("connector-admin", "Create", "Topic", "own-offsets")}


OF_THE_TASK = [
    permission
    for permission in sorted(table(EARLIER, "connect", "source", 1, **NAMES))
    if permission.principal in ("connector-producer", "connector-consumer", "connector-admin")
]


@pytest.mark.parametrize("missing", OF_THE_TASK, ids=" ".join)
def test_a_task_needs_each_of_them(missing):
    """Without it the task fails with the code of that resource, and writes nothing; with all of them it does its work,
    so that the table is complete."""
    script = Script.of_reference()
    script.then(0, "commit")
    script.system.kill(0)
    script.system.env.brokers.acls.deny(missing)
    script.system.restart(0)
    script.go_on()
    script.system.audit()
    failed = script.kinds("instance_failed")[-1]
    assert failed.error == (53 if missing.resource_type == "TransactionalId" else 29)
    assert [event.offset for event in script.kinds("output_read")] == [1]
    script.system.env.brokers.acls.allow(missing)
    script.system.restart(0)
    script.audit()
    assert [event.offset for event in script.kinds("output_read")] == [1, 2, 3, 4]


def test_a_permission_of_something_else_is_not_needed():
    """What a task does not ask for may be denied: another topic, another principal."""
    script = Script.of_reference()
    for needless in (
        Permission("connector-consumer", "Read", "Topic", "output"),
        Permission("worker-producer", "Write", "Topic", "own-offsets"),
        Permission("connector-admin", "Create", "Topic", "own-offsets"),
        Permission("connector-producer", "IdempotentWrite", "Cluster", "kafka-cluster"),
    ):
        script.system.env.brokers.acls.deny(needless)
    script.audit()
    assert [event.offset for event in script.kinds("output_read")] == [1, 2, 3, 4]


OWN, WORKERS = Choice(1, True), Choice(0, False)


@pytest.mark.rule("618.29")
@pytest.mark.parametrize(
    ("named", "same_cluster", "exactly_once", "feature_off"),
    [
        ("", True, WORKERS, WORKERS),
        ("own-offsets", True, OWN, OWN),  # explicit: regardless of the flag
        ("own-offsets", False, OWN, OWN),
        ("", False, OWN, WORKERS),  # implicit: with the feature only
        ("connect-offsets", True, WORKERS, WORKERS),  # named, and the worker's own
        ("connect-offsets", False, OWN, OWN),  # of the same name, on another cluster
    ],
)
def test_which_topics_a_task_has(named, same_cluster, exactly_once, feature_off):
    """618.29, and what becomes of it with the feature off, and with software from before."""
    assert Parts().choose(named, same_cluster, 0) == exactly_once
    assert Parts().choose(named, same_cluster, 1) == feature_off
    assert Parts().choose(named, same_cluster, 2) == WORKERS


@pytest.mark.rule("618.29")
@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_the_topic_after_a_downgrade(implicit, hard):
    """Only a topic that is named stays in use, and only on software that knows it."""
    script = Script.of_reference(downgrades=True, implicit=implicit)
    script.then(0, "commit")
    assert script.system.downgrade(hard)
    assert script.system.env.topic == (0 if implicit or hard else 1)
    assert script.system.upgrade()
    assert script.system.env.topic == 1
