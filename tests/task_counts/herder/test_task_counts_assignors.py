"""Assignment of connectors and tasks to members: everything once, balanced, and never to two at a time."""

import random

import pytest
from fencepost.reference_impl.connect.group import ASSIGNORS, Assignment, Owned, cooperative, eager

NOBODY = Owned()


def tasks_of(**counts):
    return [(name, n) for name, count in counts.items() for n in range(count)]


def owned(assignments):
    """What members say that they have after taking these assignments."""
    return {member: Owned(frozenset(a.connectors), frozenset(a.tasks)) for member, a in assignments.items()}


@pytest.mark.parametrize("protocol", sorted(ASSIGNORS))
@pytest.mark.parametrize("members", [1, 2, 3, 5])
def test_everything_is_assigned_once_and_evenly(protocol, members):
    """618.41: from nothing, both protocols give every connector and task to exactly one member."""
    tasks = tasks_of(a=3, b=4)
    made = ASSIGNORS[protocol](dict.fromkeys(range(members), NOBODY), ["a", "b"], tasks)
    assert sorted(t for a in made.values() for t in a.tasks) == tasks
    assert sorted(c for a in made.values() for c in a.connectors) == ["a", "b"]
    sizes = [len(a.connectors) + len(a.tasks) if protocol == "eager" else len(a.tasks) for a in made.values()]
    assert max(sizes) - min(sizes) <= 1
    assert not any(a.revokes for a in made.values())


def test_eager_goes_round():
    """618.41: connectors first, then the tasks from where these ended."""
    assert eager({4: NOBODY, 2: NOBODY}, ["c"], tasks_of(c=2)) == {
        2: Assignment(("c",), (("c", 1),)),
        4: Assignment((), (("c", 0),)),
    }


def test_order_of_what_is_given_does_not_matter():
    """The same members and tasks in another order: the same assignment."""
    tasks = tasks_of(a=3, b=2)
    for assign in ASSIGNORS.values():
        forth = assign({0: NOBODY, 1: NOBODY}, ["a", "b"], tasks)
        assert assign({1: NOBODY, 0: NOBODY}, ["b", "a"], reversed(tasks)) == forth


def test_cooperative_keeps_what_is_balanced():
    """618.41: nothing moves without a reason."""
    members = {0: Owned(frozenset("c"), frozenset({("c", 1)})), 1: Owned(frozenset(), frozenset({("c", 0)}))}
    assert cooperative(members, ["c"], tasks_of(c=2)) == {
        0: Assignment(("c",), (("c", 1),)),
        1: Assignment((), (("c", 0),)),
    }


def test_cooperative_revokes_before_it_gives():
    """618.41: what moves to a newcomer is in nobody's assignment until its owner has let go of it."""
    members = {0: Owned(frozenset("c"), frozenset(tasks_of(c=2))), 1: NOBODY}
    first = cooperative(members, ["c"], tasks_of(c=2))
    assert first == {0: Assignment(("c",), (("c", 0),), (), (("c", 1),)), 1: Assignment()}
    assert first[0].revokes
    second = cooperative(owned(first), ["c"], tasks_of(c=2))
    assert second == {0: Assignment(("c",), (("c", 0),)), 1: Assignment((), (("c", 1),))}


def test_cooperative_revokes_what_two_claim():
    """B36: a member that comes back with a task that another one got meanwhile; both let go of it."""
    members = {n: Owned(frozenset(), frozenset(tasks_of(c=1))) for n in range(2)}
    first = cooperative(members, [], tasks_of(c=1))
    assert [a.revoked_tasks for a in first.values()] == [(("c", 0),), (("c", 0),)]
    second = cooperative(owned(first), [], tasks_of(c=1))
    assert [a.tasks for a in second.values()] == [(("c", 0),), ()]


def test_cooperative_revokes_what_is_gone():
    """A deleted connector's tasks, and tasks beyond a smaller set, are revoked."""
    made = cooperative({0: Owned(frozenset("d"), frozenset(tasks_of(c=2, d=1)))}, ["c"], tasks_of(c=1))
    assert made == {0: Assignment(("c",), (("c", 0),), ("d",), (("c", 1), ("d", 0)))}


def test_cooperative_settles_after_two_rebalances():
    """618.41: from any distribution, doubled and outdated claims included, the third assignment changes nothing."""
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
    """A group without members."""
    assert eager({}, ["c"], tasks_of(c=1)) == cooperative({}, ["c"], tasks_of(c=1)) == {}
