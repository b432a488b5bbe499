"""Each principal needs certain permissions, and refusals have certain error codes."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.connect import brokers
from fencepost.reference_impl.connect.brokers import Acls, Permission
from fencepost.reference_impl.connect.config_topic import NAME

ID = "TransactionalId"


def test_the_leader_writes_as_the_workers_producer():
    """618.24, 618.47: It needs Describe and Write on `connect-cluster-<groupId>`, IdempotentWrite, and the topic."""
    needed = brokers.of_leader("g", "configs")
    assert {p.principal for p in needed} == {"worker-producer"}
    assert [p[1:] for p in needed] == [
        ("Describe", ID, "connect-cluster-g"),
        ("Write", ID, "connect-cluster-g"),
        ("IdempotentWrite", "Cluster", "kafka-cluster"),
        ("Write", "Topic", "configs"),
    ]


def test_fencing_is_the_connectors_admin():
    """618.12, 618.47: Fencing needs Describe and Write on the task's id, as the newer text lists them."""
    assert brokers.of_fencing("g", "c", 1) == (
        Permission("connector-admin", "Describe", ID, "g-c-1"),
        Permission("connector-admin", "Write", ID, "g-c-1"),
    )


def test_a_task_opens_its_producer_as_the_connectors_producer():
    """618.18: A task's producer needs the same id under another principal."""
    fencing = {p[1:] for p in brokers.of_fencing("g", "c", 1)}
    opening = brokers.of_task("g", "c", 1)
    assert {p.principal for p in opening} == {"connector-producer"}
    assert fencing <= {p[1:] for p in opening}


def test_one_principal_does_not_stand_in_for_another():
    """618.47: Without the admin's permission fencing is refused, though worker and task may write."""
    acls = Acls()
    acls.deny(Permission("connector-admin", "Write", ID, "g-c-0"))
    assert acls.error(brokers.of_fencing("g", "c", 0)) == 53
    assert acls.error(brokers.of_fencing("g", "c", 1)) == 0
    assert acls.error(brokers.of_task("g", "c", 0)) == 0
    assert acls.error(brokers.of_leader("g", "configs")) == 0


def refused_without(denied, **config):
    """Return the events of a cluster without this permission, in which a connector gets two tasks twice."""
    script = Script.of_reference(mode="B", workers=1, **config)
    script.configure(0, tasks=2)
    script.system.env.brokers.acls.deny(denied)
    script.system.restart_worker(0)
    script.settle()
    script.configure(0, tasks=2)
    return script.seen()


@pytest.mark.rule("618.37")
@pytest.mark.parametrize("place", range(4))
def test_a_leader_needs_every_permission_of_the_workers_producer(place):
    """618.37: Without one of these permissions no worker can claim the topic, and no set is written."""
    events = refused_without(brokers.of_leader("connect", NAME)[place])
    assert [e for e in events if e.kind == "claim_failed"]
    assert len([e for e in events if e.kind == "set_written"]) == 1


@pytest.mark.rule("618.37")
@pytest.mark.parametrize("place", range(len(brokers.of_task("connect", "connector-0", 0))))
def test_a_task_needs_every_permission_of_the_connectors_producer(place):
    """618.37: Without one of these permissions a task fails before its producer is opened, but not the other task."""
    denied = brokers.of_task("connect", "connector-0", 0)[place]
    events = refused_without(denied)
    failed = {e.task for e in events if e.kind == "task_failed"}
    assert failed == ({0} if "connector-0" in denied.resource else {0, 1})


@pytest.mark.rule("618.37")
@pytest.mark.parametrize("place", range(2))
def test_fencing_needs_every_permission_of_the_connectors_admin(place):
    """618.37: Without one of these permissions the round fails, and with it every task."""
    events = refused_without(brokers.of_fencing("connect", "connector-0", 1)[place])
    assert 53 in [e.error for e in events if e.kind == "id_fenced"]
    assert [e for e in events if e.kind == "round_failed"]


@pytest.mark.parametrize(
    ("place", "code"),
    [(0, 53), (1, 53), (2, 31), (3, 29)],
)
def test_a_refusal_has_the_code_of_its_resource(place, code):
    """The code is 53 for a transactional id, 31 for the cluster and 29 for a topic."""
    needed = brokers.of_leader("g", "configs")
    acls = Acls()
    acls.deny(needed[place])
    assert acls.error(needed) == code
    acls.allow(needed[place])
    assert acls.error(needed) == 0


def test_the_first_missing_permission_decides():
    needed = brokers.of_leader("g", "configs")
    acls = Acls()
    for permission in needed[1:]:
        acls.deny(permission)
    assert acls.error(needed) == 53


@pytest.mark.parametrize(("error", "goes_on"), [(0, True), (36, True), (35, True), (31, True), (29, True)])
def test_tolerated_errors_of_creating_the_offsets_topic(error, goes_on):
    """618.17: A task tolerates that the topic exists, and what a worker tolerates for its own internal topics."""
    assert brokers.tolerates_creation_error(error) is goes_on


@pytest.mark.parametrize("error", [7, 38, 40, 44, -1])
def test_other_errors_of_creating_the_offsets_topic_fail_the_task(error):
    """618.17: A time-out, or a replication factor, config or policy that does not fit, fails the task."""
    assert not brokers.tolerates_creation_error(error)


def test_creating_the_offsets_topic_is_the_connectors_admin():
    """618.17: The admin needs Create, and Describe to read the topic to its end."""
    assert {(p.principal, p.operation) for p in brokers.of_offsets_topic("o")} == {
        ("connector-admin", "Create"), ("connector-admin", "Describe"),
    }  # fmt: skip


def test_ids_collide():
    """618.49: Group g with connector a-1 and group g-a with connector 1 share an id, and so do leader and task."""
    assert brokers.task_transactional_id("g", "a-1", 0) == brokers.task_transactional_id("g-a", "1", 0)
    assert brokers.leader_transactional_id("7") == brokers.task_transactional_id("connect", "cluster", 7)
