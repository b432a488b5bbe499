"""These tests check the classic protocol: joining, syncing, heartbeats, leaving, static members, and who may commit."""

import pytest
from fencepost.reference_impl.kafka.classic_group import State
from fencepost.reference_impl.kafka.messages import GroupMetadata
from group_bench import Bench

ILLEGAL, UNKNOWN, REBALANCE, ID_REQUIRED, FENCED_INSTANCE = 22, 25, 27, 79, 82


def test_a_new_member_comes_twice():
    """KIP-394: A new member gets its id first, and is a member only once it joins with that id."""
    bench = Bench()
    first = bench.answers[bench.join()]
    assert first.error_code == ID_REQUIRED
    assert not bench.group.members
    second = bench.answers[bench.join(first.member)]
    assert (second.error_code, second.generation, second.leader, second.members) == (
        0,
        1,
        first.member,
        (first.member,),
    )


def test_a_member_that_never_comes_with_its_id_holds_up_a_rebalance_for_a_session_only():
    """KIP-394: The rebalance waits for an announced member as long as for a member."""
    bench = Bench()
    bench.join()
    member, number = bench.first_join()
    assert number not in bench.answers
    bench.system.advance(45_000)
    bench.settle()
    assert bench.answers[number].error_code == 0
    assert list(bench.group.members) == [member]


def test_a_rebalance_has_two_halves():
    bench = Bench()
    leader = bench.alone()
    follower, waiting = bench.first_join()
    assert waiting not in bench.answers
    assert bench.beat(1, leader) == REBALANCE
    joined = bench.answers[bench.join(leader)]
    assert (joined.generation, joined.members) == (2, (leader, follower))
    assert bench.answers[waiting].members == ()
    assert bench.group.state is State.COMPLETING_REBALANCE
    synced = bench.sync(2, follower)
    assert synced not in bench.answers
    bench.sync(2, leader, {leader: (0,), follower: (1,)})
    assert bench.answers[synced].assignment == (1,)
    assert bench.group.state is State.STABLE


def test_who_does_not_join_again_in_time_is_out():
    bench = Bench(max_poll_ms=60_000)
    gone = bench.alone()
    member, number = bench.first_join()
    for _ in range(4):
        bench.system.advance(14_000)
        assert bench.beat(1, gone) == REBALANCE
    bench.system.advance(14_000)
    bench.settle()
    assert bench.answers[number].members == (member,)
    assert bench.beat(1, gone) == UNKNOWN


def test_a_session_ends_unless_there_are_heartbeats():
    """A session ends 45 seconds after the last heartbeat."""
    bench = Bench()
    member = bench.alone()
    bench.system.advance(44_000)
    assert bench.beat(1, member) == 0
    bench.system.advance(44_000)
    assert bench.beat(1, member) == 0
    bench.system.advance(45_000)
    assert bench.beat(1, member) == UNKNOWN
    assert bench.group.state is State.EMPTY


def test_errors_of_members():
    bench = Bench()
    member = bench.alone()
    assert bench.beat(1, 99) == UNKNOWN
    assert bench.beat(0, member) == ILLEGAL
    assert bench.beat(2, member) == ILLEGAL
    assert bench.answers[bench.join(99)].error_code == UNKNOWN
    assert bench.answers[bench.sync(0, member)].error_code == ILLEGAL
    assert bench.leave(99) == UNKNOWN
    assert bench.leave(member) == 0
    assert (bench.group.state, bench.group.generation) == (State.EMPTY, 2)


def test_a_static_member_is_replaced_without_a_rebalance():
    """KIP-345: A member that joins with a known instance id gets another member id, the same generation and partitions,
    and the one before is fenced."""
    bench = Bench()
    before = bench.alone(instance=7)
    after = bench.answers[bench.join(-1, 7)]
    assert (after.generation, bench.group.state) == (1, State.STABLE)
    assert bench.answers[bench.sync(1, after.member, instance=7)].assignment == (0,)
    assert bench.beat(1, before, 7) == FENCED_INSTANCE
    assert bench.beat(1, after.member, 7) == 0
    assert bench.group.commit_refused(GroupMetadata(1, before, 7), (0,), True) == FENCED_INSTANCE
    assert bench.group.commit_refused(GroupMetadata(1, before, 8), (0,), True) == UNKNOWN


def test_the_next_coordinator_knows_what_was_stored():
    """A generation that no leader has assigned is forgotten in a fail-over, and its number is given again."""
    bench = Bench()
    member = bench.alone()
    _, waiting = bench.first_join()
    bench.join(member)
    assert bench.group.generation == 2
    bench.system.move_group()
    assert (bench.group.generation, bench.group.state, list(bench.group.members)) == (1, State.STABLE, [member])
    assert bench.answers[waiting].generation == 2
    assert bench.beat(2, member) == ILLEGAL
    assert bench.beat(1, member) == 0


@pytest.mark.rule("447.7")
@pytest.mark.parametrize(
    ("generation", "member", "transactional", "plain"),
    [
        (1, "its own", 0, 0),
        (0, "its own", ILLEGAL, ILLEGAL),
        (2, "its own", ILLEGAL, ILLEGAL),
        (-1, "its own", ILLEGAL, ILLEGAL),
        (1, "unknown", UNKNOWN, UNKNOWN),
        (1, "none", UNKNOWN, UNKNOWN),
        (-1, "none", 0, UNKNOWN),
    ],
)
def test_who_may_commit(generation, member, transactional, plain):
    """ClassicGroup.validateOffsetCommit always accepts a commit in a transaction that has no metadata (B38)."""
    bench = Bench()
    ids = {"its own": bench.alone(), "unknown": 99, "none": -1}
    metadata = GroupMetadata(generation, ids[member])
    assert bench.group.commit_refused(metadata, (0,), True) == transactional
    assert bench.group.commit_refused(metadata, (0,), False) == plain


def test_an_empty_group_takes_commits_without_a_generation():
    bench = Bench()
    member = bench.alone()
    bench.leave(member)
    for metadata in (GroupMetadata(), GroupMetadata(-1, member)):
        assert bench.group.commit_refused(metadata, (0,), True) == 0
        assert bench.group.commit_refused(metadata, (0,), False) == 0
    assert bench.group.commit_refused(GroupMetadata(1, member), (0,), True) == UNKNOWN


def test_commits_during_a_rebalance():
    """While members join, the old generation still commits. While the leader assigns, plain commits get
    REBALANCE_IN_PROGRESS, but transactional ones do not."""
    bench = Bench()
    member = bench.alone()
    bench.first_join()
    assert bench.group.commit_refused(GroupMetadata(1, member), (0,), True) == 0
    bench.join(member)
    assert bench.group.commit_refused(GroupMetadata(1, member), (0,), True) == ILLEGAL
    assert bench.group.commit_refused(GroupMetadata(2, member), (0,), True) == 0
    assert bench.group.commit_refused(GroupMetadata(2, member), (0,), False) == REBALANCE
