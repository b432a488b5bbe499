"""Assignors give each connector and task to one member, in balance, and never to two at a time."""

import random

import pytest
from fencepost.reference_impl.connect.group import ASSIGNORS, Assignment, Owned, cooperative, eager

NOBODY = Owned()


def tasks_of(**counts):
    return [(name, n) for name, count in counts.items() for n in range(count)]


def owned(assignments):
    return {member: Owned(frozenset(a.connectors), frozenset(a.tasks)) for member, a in assignments.items()}


@pytest.mark.parametrize("protocol", sorted(ASSIGNORS))
@pytest.mark.parametrize("members", [1, 2, 3, 5])
def test_everything_is_assigned_once_and_evenly(protocol, members):
    """618.41: From nothing, both protocols give every connector and task to exactly one member."""
    tasks = tasks_of(a=3, b=4)
    made = ASSIGNORS[protocol](dict.fromkeys(range(members), NOBODY), ["a", "b"], tasks)
    assert sorted(t for a in made.values() for t in a.tasks) == tasks
    assert sorted(c for a in made.values() for c in a.connectors) == ["a", "b"]
    sizes = [len(a.connectors) + len(a.tasks) if protocol == "eager" else len(a.tasks) for a in made.values()]
    assert max(sizes) - min(sizes) <= 1
    assert not any(a.revokes for a in made.values())


def test_eager_goes_round():
    """618.41: The eager assignor gives connectors first, and then tasks from where the connectors ended."""
    assert eager({4: NOBODY, 2: NOBODY}, ["c"], tasks_of(c=2)) == {
        2: Assignment(("c",), (("c", 1),)),
        4: Assignment((), (("c", 0),)),
    }


def test_order_of_what_is_given_does_not_matter():
    tasks = tasks_of(a=3, b=2)
    for assign in ASSIGNORS.values():
        forth = assign({0: NOBODY, 1: NOBODY}, ["a", "b"], tasks)
        assert assign({1: NOBODY, 0: NOBODY}, ["b", "a"], reversed(tasks)) == forth


def test_cooperative_keeps_what_is_balanced():
    """618.41: A balanced assignment does not change."""
    members = {0: Owned(frozenset("c"), frozenset({("c", 1)})), 1: Owned(frozenset(), frozenset({("c", 0)}))}
    assert cooperative(members, ["c"], tasks_of(c=2)) == {
        0: Assignment(("c",), (("c", 1),)),
        1: Assignment((), (("c", 0),)),
    }


def test_cooperative_revokes_before_it_gives():
    """618.41: A task that moves to a newcomer is in no assignment until its owner has revoked it."""
    members = {0: Owned(frozenset("c"), frozenset(tasks_of(c=2))), 1: NOBODY}
    first = cooperative(members, ["c"], tasks_of(c=2))
    assert first == {0: Assignment(("c",), (("c", 0),), (), (("c", 1),)), 1: Assignment()}
    assert first[0].revokes
    second = cooperative(owned(first), ["c"], tasks_of(c=2))
    assert second == {0: Assignment(("c",), (("c", 0),)), 1: Assignment((), (("c", 1),))}


def test_cooperative_revokes_what_two_claim():
    """B36: A task that a returning member and a new owner both claim is revoked from both."""
    members = {n: Owned(frozenset(), frozenset(tasks_of(c=1))) for n in range(2)}
    first = cooperative(members, [], tasks_of(c=1))
    assert [a.revoked_tasks for a in first.values()] == [(("c", 0),), (("c", 0),)]
    second = cooperative(owned(first), [], tasks_of(c=1))
    assert [a.tasks for a in second.values()] == [(("c", 0),), ()]


def test_cooperative_revokes_what_is_gone():
    made = cooperative({0: Owned(frozenset("d"), frozenset(tasks_of(c=2, d=1)))}, ["c"], tasks_of(c=1))
    assert made == {0: Assignment(("c",), (("c", 0),), ("d",), (("c", 1), ("d", 0)))}


def test_cooperative_settles_after_two_rebalances():
    """618.41: From any distribution, even with doubled and outdated claims, the third assignment changes nothing."""
    chance = random.Random(618)
    for _ in range(300):
        tasks, connectors = tasks_of(a=chance.randrange(4), b=chance.randrange(4)), ["a", "b"]
        members = {
            member: Owned(
                frozenset(c for c in "abc" if chance.random() < 0.5),
                frozenset(t for t in tasks_of(a=3, b=3, c=1) if chance.random() < 0.5),
            )
            for member in range(1 + chance.randrange(4))
        }
        first = cooperative(members, connectors, tasks)
        given = [t for a in first.values() for t in a.tasks]
        claimed_by = {t: [m for m, mine in members.items() if t in mine.tasks] for t in given}
        assert len(set(given)) == len(given)
        assert all(not who or (len(who) == 1 and t in first[who[0]].tasks) for t, who in claimed_by.items())
        second = cooperative(owned(first), connectors, tasks)
        assert sorted(t for a in second.values() for t in a.tasks) == tasks
        assert not any(a.revokes for a in second.values())
        assert cooperative(owned(second), connectors, tasks) == second


def test_nobody_gets_nothing():
    assert eager({}, ["c"], tasks_of(c=1)) == cooperative({}, ["c"], tasks_of(c=1)) == {}
