"""Which transactional ids of Connect clusters collide: none within a cluster, and some across clusters."""

from connect_ids import User, collisions, leader_id, task_id
from hypothesis import example, given, settings
from hypothesis import strategies as st

NAMES = st.text("ab-019", min_size=1, max_size=6) | st.sampled_from(
    ["connect", "cluster", "connect-cluster", "connect-cluster-connect", "connect-cluster-1", "1"]
)
CONNECTORS = st.dictionaries(NAMES, st.integers(1, 12), max_size=4)


@settings(max_examples=300, deadline=None)
@given(NAMES, CONNECTORS)
@example("connect", {"c": 12, "c-1": 12, "c-1-1": 12})
@example("connect-cluster", {"connect-cluster": 3, "cluster": 3})
def test_none_within_a_cluster(group: str, connectors: dict[str, int]) -> None:
    """Names of connectors may have dashes and digits; a group's tasks and its leader have ids of their own."""
    assert collisions({group: connectors}) == {}


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(NAMES, CONNECTORS, max_size=3))
@example({"connect": {"orders-1": 2}, "connect-orders": {"1": 3}})
def test_each_that_is_told_is_one(clusters: dict[str, dict[str, int]]) -> None:
    """Those who are said to share an id do, are of different groups, and are there."""
    for name, sharing in collisions(clusters).items():
        assert {user.transactional_id for user in sharing} == {name}
        assert len({user.group for user in sharing}) == len(sharing) > 1
        for user in sharing:
            assert user.connector is None or user.task < clusters[user.group][user.connector]


def test_two_clusters_with_one_id() -> None:
    """The example that the model's names stand for."""
    found = collisions({"connect": {"orders-1": 2}, "connect-orders": {"1": 1}})
    assert found == {"connect-orders-1-0": (User("connect", "orders-1", 0), User("connect-orders", "1", 0))}


def test_a_task_and_a_leader_with_one_id() -> None:
    """A task of the connector "cluster" may have the id of the leader of a group whose name is a number."""
    assert task_id("connect", "cluster", 7) == leader_id("7")
    found = collisions({"connect": {"cluster": 8}, "7": {}})
    assert found == {"connect-cluster-7": (User("connect", "cluster", 7), User("7", None, -1))}
