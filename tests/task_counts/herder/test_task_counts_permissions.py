"""Permissions: which of the principals needs what, and the codes of refusals."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.connect import brokers
from fencepost.reference_impl.connect.brokers import Acls, Permission
from fencepost.reference_impl.connect.config_topic import NAME

ID = "TransactionalId"


def test_the_leader_writes_as_the_workers_producer():
    """618.24, 618.47: Describe and Write on `connect-cluster-<groupId>`, IdempotentWrite, and the topic itself."""
    needed = brokers.of_leader("g", "configs")
    assert {p.principal for p in needed} == {"worker-producer"}
    assert [p[1:] for p in needed] == [
        ("Describe", ID, "connect-cluster-g"),
        ("Write", ID, "connect-cluster-g"),
        ("IdempotentWrite", "Cluster", "kafka-cluster"),
        ("Write", "Topic", "configs"),
    ]


def test_fencing_is_the_connectors_admin():
    """618.12, 618.47: Describe and Write on the task's id, as the newer text lists them."""
    assert brokers.of_fencing("g", "c", 1) == (
        Permission("connector-admin", "Describe", ID, "g-c-1"),
        Permission("connector-admin", "Write", ID, "g-c-1"),
    )


def test_a_task_opens_its_producer_as_the_connectors_producer():
    """618.18: on the same id, another principal."""
    fencing = {p[1:] for p in brokers.of_fencing("g", "c", 1)}
    opening = brokers.of_task("g", "c", 1)
    assert {p.principal for p in opening} == {"connector-producer"}
    assert fencing <= {p[1:] for p in opening}


def test_one_principal_does_not_stand_in_for_another():
    """618.47: without the admin's permission fencing is refused, though worker and task may write."""
    acls = Acls()
    acls.deny(Permission("connector-admin", "Write", ID, "g-c-0"))
    assert acls.error(brokers.of_fencing("g", "c", 0)) == 53
    assert acls.error(brokers.of_fencing("g", "c", 1)) == 0
    assert acls.error(brokers.of_task("g", "c", 0)) == 0
    assert acls.error(brokers.of_leader("g", "configs")) == 0


def refused_without(denied, **config):
    """The events of a cluster in which a connector is given two tasks, and two again, without this permission."""
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
    """618.37: without one of them nobody becomes leader in deed, and no set is written."""
    events = refused_without(brokers.of_leader("connect", NAME)[place])
    assert [e for e in events if e.kind == "claim_failed"]
    assert len([e for e in events if e.kind == "set_written"]) == 1


@pytest.mark.rule("618.37")
@pytest.mark.parametrize("place", range(len(brokers.of_task("connect", "connector-0", 0))))
def test_a_task_needs_every_permission_of_the_connectors_producer(place):
    """618.37: without one of them its producer is not opened, and it fails; the other task has its own."""
    denied = brokers.of_task("connect", "connector-0", 0)[place]
    events = refused_without(denied)
    failed = {e.task for e in events if e.kind == "task_failed"}
    assert failed == ({0} if "connector-0" in denied.resource else {0, 1})


@pytest.mark.rule("618.37")
@pytest.mark.parametrize("place", range(2))
def test_fencing_needs_every_permission_of_the_connectors_admin(place):
    """618.37: without one of them the round fails, and with it every task."""
    events = refused_without(brokers.of_fencing("connect", "connector-0", 1)[place])
    assert 53 in [e.error for e in events if e.kind == "id_fenced"]
    assert [e for e in events if e.kind == "round_failed"]


@pytest.mark.parametrize(
    ("place", "code"),
    [(0, 53), (1, 53), (2, 31), (3, 29)],
)
def test_a_refusal_has_the_code_of_its_resource(place, code):
    """53 for a transactional id, 31 for the cluster, 29 for a topic; allowed again, nothing is refused."""
    needed = brokers.of_leader("g", "configs")
    acls = Acls()
    acls.deny(needed[place])
    assert acls.error(needed) == code
    acls.allow(needed[place])
    assert acls.error(needed) == 0


def test_the_first_missing_permission_decides():
    """Describe is asked for before anything is written."""
    needed = brokers.of_leader("g", "configs")
    acls = Acls()
    for permission in needed[1:]:
        acls.deny(permission)
    assert acls.error(needed) == 53


@pytest.mark.parametrize(("error", "goes_on"), [(0, True), (36, True), (35, True), (31, True), (29, True)])
def test_tolerated_errors_of_creating_the_offsets_topic(error, goes_on):
    """618.17: it exists, or the worker would go on for its own internal topics too."""
    assert brokers.tolerates_creation_error(error) is goes_on


@pytest.mark.parametrize("error", [7, 38, 40, 44, -1])
def test_other_errors_of_creating_the_offsets_topic_fail_the_task(error):
    """618.17: a time-out, a replication factor, a configuration or a policy that does not fit."""
    assert not brokers.tolerates_creation_error(error)


def test_creating_the_offsets_topic_is_the_connectors_admin():
    """618.17: Create, and Describe to read it to its end."""
    assert {(p.principal, p.operation) for p in brokers.of_offsets_topic("o")} == {
        ("connector-admin", "Create"), ("connector-admin", "Describe"),
    }  # fmt: skip


def test_ids_collide():
    """618.49: group g with connector a-1, and group g-a with connector 1, share an id; so do leader and task."""
    assert brokers.task_transactional_id("g", "a-1", 0) == brokers.task_transactional_id("g-a", "1", 0)
    assert brokers.leader_transactional_id("7") == brokers.task_transactional_id("connect", "cluster", 7)
