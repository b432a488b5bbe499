"""The new protocol, sentence by sentence: epochs, reconciliation, static members, and who may commit and fetch."""

import pytest
from fencepost.reference_impl.kafka.group_environment import Place
from fencepost.reference_impl.kafka.messages import GroupMetadata, GroupTxnOffsetCommitRequest
from fencepost.reference_impl.kafka.modern_group import balanced
from group_bench import Bench

NEW, RELAXED = "new-protocol", "new-protocol-relaxed"
UNKNOWN, FENCED_INSTANCE, FENCED_EPOCH, UNRELEASED, STALE = 25, 82, 110, 111, 113
A, B = 1_000, 1_001  # ids that members made up


def commit(bench, epoch, member=A, partitions=(0,), transactional=True):
    """The error for a commit."""
    return bench.group.commit_refused(GroupMetadata(epoch, member), partitions, transactional)


def two(mode=RELAXED):
    """A had both partitions in epoch 1; B has joined, and A is asked to give one up."""
    bench = Bench(mode=mode, inputs=2)
    assert bench.group_beat(A, 0, ()).assignment == (0, 1)
    assert bench.group_beat(B, 0, ())[2:] == (2, ())
    return bench


def test_a_member_revokes_before_another_is_assigned():
    """It stays in its epoch until it no longer owns what it is to give up; nobody else has that until then."""
    bench = two()
    asked = bench.group_beat(A, 1)
    assert (asked.epoch, asked.assignment) == (1, (0,))
    assert bench.group_beat(B, 2).assignment is None
    assert bench.group_beat(A, 1, (0, 1)).epoch == 1
    assert bench.group_beat(A, 1, (0,)).epoch == 2
    assert bench.group_beat(B, 2).assignment == (1,)


def test_who_does_not_revoke_in_time_is_out():
    """The rebalance time-out, however well the member lives."""
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
    """The current one; the one before only from who has nothing but its own; 0 from anybody, at any time."""
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
    """Its partitions go to the others."""
    bench = two()
    assert bench.group_beat(A, -1).error_code == 0
    assert bench.group_beat(B, 2).assignment == (0, 1)
    bench.system.advance(45_000)
    assert bench.group_beat(B, 3).error_code == UNKNOWN
    assert not bench.group.members


def test_a_static_member_keeps_its_partitions_while_it_is_away():
    """It leaves with epoch -2; who comes in its place has them, each as if assigned in epoch 0. From who has left only
    the epoch -2 itself would be taken."""
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
    """Under its own member id, too, once it has left: nobody else is concerned. What it has counts from epoch 0."""
    bench = Bench(mode=RELAXED, inputs=2)
    bench.group_beat(A, 0, (), 7)
    assert bench.group_beat(A, -2, (), 7).error_code == 0
    assert commit(bench, 1) == STALE
    assert bench.group_beat(A, 0, (), 7)[2:] == (1, (0, 1))
    assert (commit(bench, 1), commit(bench, 0)) == (0, 0)


def test_who_is_known_and_joins_again_is_given_what_it_has():
    """In the epoch that it has; what is to go to another member is free, and its epoch moves."""
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
    """Since 4.3 an assignment stays for a while: who was removed and joins again has its epoch again, without any
    partition, and may commit what it had, also when another member has that."""
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
    """Not even under its own member id: a repeated first heartbeat is refused."""
    bench = Bench(mode=NEW)
    assert bench.group_beat(A, 0, (), 7).error_code == 0
    assert bench.group_beat(A, 0, (), 7).error_code == UNRELEASED


def test_the_current_epoch_commits_anything():
    """Before and after KIP-1251, also what is another member's (447.21)."""
    for mode in (NEW, RELAXED):
        bench = two(mode)
        bench.group_beat(A, 1)
        bench.group_beat(A, 1, (0,))
        bench.group_beat(B, 2)
        assert commit(bench, 2, A, (0, 1)) == 0


def test_until_4_2_only_the_current_epoch_commits():
    """Strict equality."""
    bench = two(NEW)
    bench.group_beat(A, 1)
    assert commit(bench, 1, A, (0, 1)) == 0
    bench.group_beat(A, 1, (0,))
    assert commit(bench, 1, A, (0,)) == STALE


def test_since_4_3_an_older_epoch_commits_what_the_member_still_has():
    """KIP-1251: also what it is giving up; not what it has given up, and one such partition refuses the whole."""
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
    """Its assignment epoch is that of its return, also for the next coordinator."""
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
    """Of an empty group anybody's; of another one those in transactions that name nothing at all (B38)."""
    bench = Bench(mode=RELAXED)
    assert commit(bench, -1, -1, transactional=transactional) == 0
    bench.group_beat(A, 0, ())
    assert commit(bench, -1, -1, transactional=transactional) == (0 if transactional else UNKNOWN)
    assert commit(bench, -1, A, transactional=transactional) == STALE
    assert commit(bench, 1, -1, transactional=transactional) == UNKNOWN


def test_fetches_are_as_strict_as_ever():
    """The current epoch, or no member at all."""
    bench = Bench(mode=RELAXED)
    bench.group_beat(A, 0, ())
    assert bench.group.fetch_refused(GroupMetadata(1, A)) == 0
    assert bench.group.fetch_refused(GroupMetadata(0, A)) == STALE
    assert bench.group.fetch_refused(GroupMetadata(1, B)) == UNKNOWN
    assert bench.group.fetch_refused(GroupMetadata()) == 0


@pytest.mark.rule("447.22")
@pytest.mark.parametrize(("version", "unknown_group", "stale"), [(5, 22, 22), (6, 69, 113)])
def test_errors_in_the_words_of_the_version(version, unknown_group, stale):
    """KIP-1319: 69 and 113 from version 6 on, 22 before."""
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
    """A topic that the brokers do not know (yet) is refused by a name or by an id, and the commit is sent again."""
    bench = Bench(mode=NEW)
    bench.env.contents[0] = Place(0, 1)
    bench.system.hide_topic(True)
    request = GroupTxnOffsetCommitRequest(0, 0, 0, 0, 0, (), GroupMetadata(), version)
    assert bench.ask("produce", request).error_code == error
    bench.system.hide_topic(False)
    assert bench.ask("produce", request).error_code != error


def test_a_target_is_balanced_and_moves_little():
    """Nobody has two partitions more than another; who has its share keeps it."""
    first = balanced([1, 2], 5, {})
    assert sorted(map(len, first.values())) == [2, 3]
    second = balanced([1, 2, 3], 5, first)
    assert sorted(map(len, second.values())) == [1, 2, 2]
    assert sum(len(second[member] & first[member]) for member in (1, 2)) == 4
    assert balanced([], 5, first) == {}
    assert sorted(p for partitions in balanced([3, 4], 5, second).values() for p in partitions) == [0, 1, 2, 3, 4]
