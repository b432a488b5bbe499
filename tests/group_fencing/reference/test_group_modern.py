"""These tests check the new protocol: epochs, reconciliation, static members, and who may commit and fetch."""

import pytest
from fencepost.reference_impl.kafka.group_environment import Place
from fencepost.reference_impl.kafka.messages import GroupMetadata, GroupTxnOffsetCommitRequest
from fencepost.reference_impl.kafka.modern_group import balanced
from group_bench import Bench

NEW, RELAXED = "new-protocol", "new-protocol-relaxed"
UNKNOWN, FENCED_INSTANCE, FENCED_EPOCH, UNRELEASED, STALE = 25, 82, 110, 111, 113
A, B = 1_000, 1_001  # ids that members made up


def commit(bench, epoch, member=A, partitions=(0,), transactional=True):
    return bench.group.commit_refused(GroupMetadata(epoch, member), partitions, transactional)


def two(mode=RELAXED):
    """Return a bench in which A had both partitions in epoch 1, B has joined, and A has to give one up."""
    bench = Bench(mode=mode, inputs=2)
    assert bench.group_beat(A, 0, ()).assignment == (0, 1)
    assert bench.group_beat(B, 0, ())[2:] == (2, ())
    return bench


def test_a_member_revokes_before_another_is_assigned():
    """A member stays in its epoch until it no longer owns what it has to give up, which no other member gets before."""
    bench = two()
    asked = bench.group_beat(A, 1)
    assert (asked.epoch, asked.assignment) == (1, (0,))
    assert bench.group_beat(B, 2).assignment is None
    assert bench.group_beat(A, 1, (0, 1)).epoch == 1
    assert bench.group_beat(A, 1, (0,)).epoch == 2
    assert bench.group_beat(B, 2).assignment == (1,)


def test_who_does_not_revoke_in_time_is_out():
    bench = two()
    bench.group_beat(A, 1)
    for _ in range(19):
        bench.system.advance(15_000)
        assert bench.group_beat(A, 1).epoch == 1
        assert bench.group_beat(B, 2).epoch == 2
    bench.system.advance(15_000)
    assert bench.group_beat(A, 1).error_code == UNKNOWN
    assert bench.group_beat(B, 2)[2:] == (3, (0, 1))


def test_epochs_of_heartbeats():
    """A heartbeat may have the current epoch, the previous one if the member owns nothing else, or 0."""
    bench = two()
    bench.group_beat(A, 1)
    bench.group_beat(A, 1, (0,))
    assert bench.group_beat(A, 1).error_code == FENCED_EPOCH
    assert bench.group_beat(A, 1, (0, 1)).error_code == FENCED_EPOCH
    assert bench.group_beat(A, 1, (0,)).epoch == 2
    assert bench.group_beat(A, 3).error_code == FENCED_EPOCH
    assert bench.group_beat(99, 1).error_code == UNKNOWN
    assert bench.group_beat(A, 0, ())[2:] == (2, (0,))


def test_who_leaves_or_says_nothing_is_out():
    bench = two()
    assert bench.group_beat(A, -1).error_code == 0
    assert bench.group_beat(B, 2).assignment == (0, 1)
    bench.system.advance(45_000)
    assert bench.group_beat(B, 3).error_code == UNKNOWN
    assert not bench.group.members


def test_a_static_member_keeps_its_partitions_while_it_is_away():
    """A static member leaves with epoch -2, and its successor gets its partitions as if assigned in epoch 0. While the
    member is away, only a commit with epoch -2 is accepted."""
    bench = Bench(mode=RELAXED, inputs=2)
    bench.group_beat(A, 0, (), 7)
    assert bench.group_beat(B, 0, (), 7).error_code == UNRELEASED
    assert bench.group_beat(B, 1, (), 7).error_code == FENCED_INSTANCE
    assert bench.group_beat(A, -2, (), 7).error_code == 0
    assert commit(bench, 1) == STALE
    assert commit(bench, -2) == 0
    assert bench.group_beat(B, 0, (), 7)[2:] == (1, (0, 1))
    assert set(bench.group.members[B].assigned.values()) == {0}
    assert commit(bench, 1) == UNKNOWN
    assert commit(bench, 0, B) == 0


def test_a_static_member_comes_back_in_the_epoch_that_it_left_in():
    """A static member that has left may return under its own member id too, and its partitions count from epoch 0."""
    bench = Bench(mode=RELAXED, inputs=2)
    bench.group_beat(A, 0, (), 7)
    assert bench.group_beat(A, -2, (), 7).error_code == 0
    assert commit(bench, 1) == STALE
    assert bench.group_beat(A, 0, (), 7)[2:] == (1, (0, 1))
    assert (commit(bench, 1), commit(bench, 0)) == (0, 0)


def test_who_is_known_and_joins_again_is_given_what_it_has():
    """A known member that joins again has its partitions, except those that are meant for another member."""
    bench = Bench(mode=RELAXED, inputs=2)
    bench.group_beat(A, 0, ())
    assert bench.group_beat(A, 0, ())[2:] == (1, (0, 1))
    assert commit(bench, 1, A, (0, 1)) == 0
    bench.group_beat(B, 0, ())
    assert bench.group_beat(A, 0, ())[2:] == (2, (0,))
    assert (commit(bench, 1, A, (0,)), commit(bench, 1, A, (1,))) == (0, STALE)
    assert bench.group_beat(B, 2).assignment == (1,)


@pytest.mark.parametrize(("interval_ms", "again"), [(0, 4), (1_000, 2)])
def test_a_group_is_not_assigned_anew_at_once(interval_ms, again):
    """Since 4.3 an assignment stays for a while. A removed member that joins again has its old epoch without
    partitions, and may commit what it had, even when another member has it."""
    bench = Bench(mode=RELAXED, inputs=2, assignment_interval_ms=interval_ms)
    bench.group_beat(B, 0, ())
    bench.system.advance(interval_ms)
    bench.group_beat(A, 0, ())
    bench.group_beat(B, 1)
    bench.group_beat(B, 1, (0,))
    assert bench.group_beat(A, 2)[2:] == (2, (1,))
    bench.group_beat(A, -1)
    assert bench.group_beat(A, 0, ()).epoch == again
    bench.system.advance(interval_ms)
    bench.system.move_group()
    assert bench.group_beat(B, 2).epoch == 4
    assert commit(bench, 2, A, (1,)) == (0 if interval_ms else STALE)
    assert bench.group_beat(A, again, ()).epoch == 4
    assert commit(bench, 2, A, (1,)) == STALE


def test_a_static_member_can_not_begin_again_before_it_has_left():
    """A repeated first heartbeat of a static member is refused, even under its own member id."""
    bench = Bench(mode=NEW)
    assert bench.group_beat(A, 0, (), 7).error_code == 0
    assert bench.group_beat(A, 0, (), 7).error_code == UNRELEASED


def test_the_current_epoch_commits_anything():
    """Before and after KIP-1251 the current epoch may commit even another member's partitions (447.21)."""
    for mode in (NEW, RELAXED):
        bench = two(mode)
        bench.group_beat(A, 1)
        bench.group_beat(A, 1, (0,))
        bench.group_beat(B, 2)
        assert commit(bench, 2, A, (0, 1)) == 0


def test_until_4_2_only_the_current_epoch_commits():
    bench = two(NEW)
    bench.group_beat(A, 1)
    assert commit(bench, 1, A, (0, 1)) == 0
    bench.group_beat(A, 1, (0,))
    assert commit(bench, 1, A, (0,)) == STALE


def test_since_4_3_an_older_epoch_commits_what_the_member_still_has():
    """KIP-1251: The partitions include those being given up, and one that was given up refuses the whole commit."""
    bench = two(RELAXED)
    bench.group_beat(A, 1)
    assert commit(bench, 1, A, (0, 1)) == 0
    bench.group_beat(A, 1, (0,))
    assert commit(bench, 1, A, (0,)) == 0
    assert commit(bench, 1, A, (1,)) == STALE
    assert commit(bench, 1, A, (0, 1)) == STALE
    assert commit(bench, 0, A, (0,)) == STALE
    assert commit(bench, 3, A, (0,)) == STALE


def test_what_was_lost_and_regained_is_newer():
    """A regained partition has the epoch of its return as assignment epoch, also at the next coordinator."""
    bench = two(RELAXED)
    bench.group_beat(A, 1)
    bench.group_beat(A, 1, (0,))
    bench.group_beat(B, 2)
    bench.group_beat(B, -1)
    assert bench.group_beat(A, 2).assignment == (0, 1)
    for _ in range(2):
        assert bench.group.members[A].assigned == {0: 1, 1: 3}
        assert (commit(bench, 2, A, (0,)), commit(bench, 2, A, (1,))) == (0, STALE)
        bench.system.move_group()


@pytest.mark.parametrize("transactional", [True, False])
def test_commits_without_an_epoch(transactional):
    """An empty group accepts every such commit, and other groups transactional ones without metadata (B38)."""
    bench = Bench(mode=RELAXED)
    assert commit(bench, -1, -1, transactional=transactional) == 0
    bench.group_beat(A, 0, ())
    assert commit(bench, -1, -1, transactional=transactional) == (0 if transactional else UNKNOWN)
    assert commit(bench, -1, A, transactional=transactional) == STALE
    assert commit(bench, 1, -1, transactional=transactional) == UNKNOWN


def test_fetches_are_as_strict_as_ever():
    """A fetch needs the current epoch or no member at all."""
    bench = Bench(mode=RELAXED)
    bench.group_beat(A, 0, ())
    assert bench.group.fetch_refused(GroupMetadata(1, A)) == 0
    assert bench.group.fetch_refused(GroupMetadata(0, A)) == STALE
    assert bench.group.fetch_refused(GroupMetadata(1, B)) == UNKNOWN
    assert bench.group.fetch_refused(GroupMetadata()) == 0


@pytest.mark.rule("447.22")
@pytest.mark.parametrize(("version", "unknown_group", "stale"), [(5, 22, 22), (6, 69, 113)])
def test_errors_in_the_words_of_the_version(version, unknown_group, stale):
    """KIP-1319: The errors are 69 and 113 from version 6 on, and 22 before."""
    bench = Bench(mode=NEW)
    request = GroupTxnOffsetCommitRequest(0, 0, 0, 0, 0, (), GroupMetadata(3, A), version)
    bench.env.contents[0] = Place(0, 1)
    coordinator = bench.coordinator
    assert coordinator.commit_refused(request) == unknown_group
    assert coordinator.commit_refused(request._replace(metadata=GroupMetadata())) == 0
    bench.group_beat(A, 0, ())
    assert coordinator.commit_refused(request) == stale
    assert coordinator.commit_refused(request._replace(metadata=GroupMetadata(1, B))) == UNKNOWN


@pytest.mark.rule("447.22")
@pytest.mark.parametrize(("version", "error"), [(3, 3), (5, 3), (6, 100)])
def test_topics_go_by_id_since_version_6(version, error):
    """A commit to a topic that the brokers do not know yet is refused by name or by id, and is sent again."""
    bench = Bench(mode=NEW)
    bench.env.contents[0] = Place(0, 1)
    bench.system.hide_topic(True)
    request = GroupTxnOffsetCommitRequest(0, 0, 0, 0, 0, (), GroupMetadata(), version)
    assert bench.ask("produce", request).error_code == error
    bench.system.hide_topic(False)
    assert bench.ask("produce", request).error_code != error


def test_a_target_is_balanced_and_moves_little():
    first = balanced([1, 2], 5, {})
    assert sorted(map(len, first.values())) == [2, 3]
    second = balanced([1, 2, 3], 5, first)
    assert sorted(map(len, second.values())) == [1, 2, 2]
    assert sum(len(second[member] & first[member]) for member in (1, 2)) == 4
    assert balanced([], 5, first) == {}
    assert sorted(p for partitions in balanced([3, 4], 5, second).values() for p in partitions) == [0, 1, 2, 3, 4]
