"""Corners of groups with members: whose offsets a coordinator takes into a transaction, and what it asks of them."""

from __future__ import annotations

from time import sleep
from uuid import uuid4

from asking import COMMIT, Asker
from corner import Bench, Steps, corner
from kio.schema.errors import ErrorCode as E
from members import ALL, LEAVE_FOR_A_WHILE, Member, commit, fetch, leave_group, topic_id

NONE = [E.none] * len(ALL)


@corner(
    "group-epochs", on="v2", rules="447.16 447.21 447.22",
    says="""In a group of the new protocol a commit needs a member that is known (25) and an epoch that is not above
        the broker's (113, which is 22 before TxnOffsetCommit 6); one without a member is taken. OffsetFetch wants the
        epoch exactly.""",
    answered="All of it; what is refused has begun the transaction.",
)  # fmt: skip
def epochs(ask: Asker, _: Bench) -> Steps:
    owner = Member(ask, "owner")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    yield ask.init(), ("A", 0)
    yield owner.commit("A", 0, 10, member="nobody"), E.unknown_member_id
    yield ask.described()[0], "Ongoing"
    yield owner.commit("A", 0, 10, generation=owner.epoch + 1), E.illegal_generation
    yield owner.commit("A", 0, 10, generation=-1), E.illegal_generation
    yield ask.offset(), -1
    yield [owner.fetch(), owner.fetch(owner.epoch - 1), owner.fetch(owner.epoch + 1)], [
        -1, E.stale_member_epoch, E.stale_member_epoch
    ]  # fmt: skip
    yield owner.commit("A", 0, 10), E.none
    yield owner.fetch(), E.unstable_offset_commit
    yield commit(ask, "A", 0, 11), E.none


@corner(
    "group-owner-not-asked", on="v2", rules="447.21 447.P2",
    says="A commit whose epoch is the member's own is taken for any partition, also another's (KIP-1251, deduced).",
    answered="So it is: a member that was never given a partition commits the offsets of all of them.",
)  # fmt: skip
def owner_not_asked(ask: Asker, _: Bench) -> Steps:
    owner, guest = Member(ask, "owner"), Member(ask, "guest")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    yield ask.init(), ("A", 0)
    yield guest.join()[1], ()  # the owner has not given anything up yet
    yield guest.commit("A", 0, 10, ALL), NONE
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled()[0], "CompleteCommit"
    yield ask.offset(), 10


corner(
    "group-owner-not-asked-in-4.0", on="4.0, v2", rules="447.21 447.P2",
    says="The same before KIP-1251.",
    answered="The same.",
)(owner_not_asked)  # fmt: skip


def _lagging(ask: Asker, stored_under_old: E) -> Steps:
    """Two members, and commits under the epoch before the present one and under that."""
    owner, other = Member(ask, "owner"), Member(ask, "other")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    yield ask.init(), ("A", 0)
    other.join()
    (moved,) = other.settle(owner, owned=1)
    kept = list(owner.owned)
    yield [len(kept), owner.epoch > before], [2, True]
    yield owner.commit("A", 0, 10, kept, generation=before), [stored_under_old] * 2
    yield owner.commit("A", 0, 10, [moved], generation=before), E.illegal_generation
    yield owner.commit("A", 0, 10, [kept[0], moved], generation=before), [E.illegal_generation] * 2
    yield owner.commit("A", 0, 10, ALL), NONE


@corner(
    "group-lagging-epoch", on="v2", rules="447.21",
    says="""An epoch below the member's is taken if each partition named was assigned by then and is the member's still;
        one that is not refuses the whole request (KIP-1251).""",
    answered="""All of it: a partition that was given away is 22 under the old epoch, with all that stands beside it,
        and taken under the new one.""",
)  # fmt: skip
def lagging(ask: Asker, _: Bench) -> Steps:
    yield from _lagging(ask, E.none)


@corner(
    "group-lagging-epoch-in-4.0", on="4.0, v2", rules="447.21",
    says="Before KIP-1251 the epoch has to be the member's own.",
    answered="So it is: a member that has acknowledged a rebalance cannot commit under the epoch before.",
)  # fmt: skip
def lagging_before(ask: Asker, _: Bench) -> Steps:
    yield from _lagging(ask, E.illegal_generation)


def _overtaken(ask: Asker, zombie: Asker, of: int = 0) -> Steps:
    """Producer A has a transaction open with its output of an input, but not the offset; B, of the new owner, processes
    the same input, and commits its output and the offset 7 behind all that it has read."""
    yield zombie.init(), ("A", 0)
    yield zombie.produce("A", 0, 0), 0
    yield ask.init(), ("B", 0)
    yield ask.offset(of), -1  # nothing is pending: the new owner may begin
    yield ask.produce("B", 0, 0), 1
    yield commit(ask, "B", 0, 7, [of]), E.none
    yield ask.end("B", 0, COMMIT), ("B", 1)
    yield ask.settled()[0], "CompleteCommit"


def _processed_twice(ask: Asker, zombie: Asker, of: int = 0) -> Steps:
    """A's transaction, in which the offset 5 now is, commits: two outputs of one input, and the offset is behind."""
    yield zombie.end("A", 0, COMMIT), ("A", 1)
    yield zombie.settled()[0], "CompleteCommit"
    yield ask.read(), ["A/0/0", "B/0/0"]
    yield ask.offset(of), 5


@corner(
    "group-rejoined", on="v2", rules="447.16 447.21 447.P1",
    says="""A member that was removed and has joined again under its id commits, under its new epoch, the offset of a
        partition that another one owns by then, and the output that goes with it (deduced; under the old epoch it is
        refused).""",
    answered="So it is: the input is in the committed output twice, and the committed offset goes back.",
    follows="""What a client sends with an offset has to be the epoch at which it was given the records, not the one
        that it has when it sends.""",
)  # fmt: skip
def rejoined(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    owner, successor = Member(zombie, "owner"), Member(ask, "successor")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    old = owner.epoch
    yield owner.leave(), E.none
    successor.join()
    yield successor.settle(owned=3), list(ALL)
    yield from _overtaken(ask, zombie)
    yield owner.commit("A", 0, 5, generation=old), E.unknown_member_id
    yield owner.join()[1], ()
    yield owner.epoch > old, True
    yield owner.commit("A", 0, 5, generation=old), E.illegal_generation
    yield owner.commit("A", 0, 5), E.none
    yield successor.owned, ALL
    yield from _processed_twice(ask, zombie)


corner(
    "group-rejoined-in-4.0", on="4.0, v2", rules="447.16 447.21 447.P1",
    says="The same before KIP-1251.",
    answered="The same.",
)(rejoined)  # fmt: skip


@corner(
    "group-expired", on="v2, short sessions", rules="447.16 447.21 447.P1",
    says="The same where the member did not leave, but was removed when its session was over.",
    answered="The same.",
)  # fmt: skip
def expired(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    owner, successor = Member(zombie, "owner"), Member(ask, "successor")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    successor.join()
    yield successor.settle(owned=3), list(ALL)
    yield owner.beat(), E.unknown_member_id
    yield from _overtaken(ask, zombie)
    yield owner.commit("A", 0, 5), E.unknown_member_id
    yield owner.join()[1], ()
    yield owner.commit("A", 0, 5), E.none
    yield from _processed_twice(ask, zombie)


@corner(
    "group-classic-rejoined", on="v2", rules="447.16 447.P1",
    says="""A classic group knows no partitions: each member of the present generation commits any offset. A
        member that has left is 25, and may commit again when it has joined again.""",
    answered="""All of it: the output is there twice as above, if the client names the generation that it has when it
        sends.""",
)  # fmt: skip
def classic_rejoined(ask: Asker, at: Bench) -> Steps:
    zombie = ask.other("zombie")
    member, old = zombie.join_group()
    yield leave_group(zombie, member), E.none
    successor, generation = ask.join_group()
    yield generation > old, True
    yield from _overtaken(ask, zombie)
    yield commit(zombie, "A", 0, 5, generation=old, member=member), E.unknown_member_id
    joining = at.later(zombie.join_group)
    ask.until(lambda: ask.heartbeat(successor, generation) == E.rebalance_in_progress)
    ask.join_group(successor)
    again, newest = joining.result(20)
    yield commit(zombie, "A", 0, 5, generation=generation, member=again), E.illegal_generation
    yield commit(zombie, "A", 0, 5, generation=newest, member=again), E.none
    yield from _processed_twice(ask, zombie)


@corner(
    "group-left-out", on="v2", rules="447.7 447.16 447.P1",
    says="""A commit that names neither generation nor member is taken, for the clients of before KIP-447: with a
        transactional id for each process, nothing stops a zombie that leaves both out.""",
    answered="All of it: the input is in the committed output twice, and the offset goes back.",
)  # fmt: skip
def left_out(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    member, generation = zombie.join_group()
    yield leave_group(zombie, member), E.none
    yield ask.join_group()[1] > generation, True
    yield from _overtaken(ask, zombie)
    yield commit(zombie, "A", 0, 5, generation=generation, member=member), E.unknown_member_id
    yield commit(zombie, "A", 0, 5), E.none
    yield from _processed_twice(ask, zombie)


@corner(
    "group-static-classic", on="v2", rules="447.16",
    says="""Of two classic members with one instance id the later one counts: the earlier is 82, if it says its instance
        id, and 25 if it does not; an instance id that no member has is 25.""",
    answered="All of it.",
)  # fmt: skip
def static_classic(ask: Asker, _: Bench) -> Steps:
    member, generation = ask.join_group(instance="i")
    yield ask.init(), ("A", 0)
    yield commit(ask, "A", 0, 10, generation=generation, member=member, instance="i"), E.none
    again, newer = ask.other().join_group(instance="i")
    names = {"generation": newer, "member": member}
    yield commit(ask, "A", 0, 11, **names, instance="i"), E.fenced_instance_id
    yield commit(ask, "A", 0, 11, **names), E.unknown_member_id
    yield commit(ask, "A", 0, 11, generation=newer, member=again, instance="j"), E.unknown_member_id
    yield commit(ask, "A", 0, 11, generation=newer, member=again), E.none


@corner(
    "group-static", on="v2", rules="447.16 447.21",
    says="""In a group of the new protocol the instance id of a commit is not looked at. A static member that has left
        for a while keeps its place: its epoch is 22, and -2 is taken; when another one has its place it is 25.""",
    answered="All of it.",
)  # fmt: skip
def static(ask: Asker, _: Bench) -> Steps:
    owner, successor = Member(ask, "owner", "i"), Member(ask, "successor", "i")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    yield ask.init(), ("A", 0)
    yield owner.commit("A", 0, 10, instance="nobody"), E.none
    yield owner.leave(LEAVE_FOR_A_WHILE), E.none
    yield owner.commit("A", 0, 11), E.illegal_generation
    yield owner.commit("A", 0, 11, generation=LEAVE_FOR_A_WHILE), E.none
    successor.join()
    yield successor.settle(owned=3), list(ALL)
    yield owner.commit("A", 0, 12), E.unknown_member_id
    yield owner.commit("A", 0, 12, generation=LEAVE_FOR_A_WHILE), E.unknown_member_id
    yield successor.commit("A", 0, 12), E.none


@corner(
    "group-share", on="v2", rules="447.22",
    says="""A share group has no offsets of consumers: a commit is 69, in versions of TxnOffsetCommit, too, that do not
        know that error.""",
    answered="All of it.",
)  # fmt: skip
def share(ask: Asker, _: Bench) -> Steps:
    member = str(uuid4())
    joined = ask.send(
        "share_group_heartbeat", 1, group_id=ask.name, member_id=member, member_epoch=0,
        subscribed_topic_names=(ask.name,),
    )  # fmt: skip
    yield joined.error_code, E.none
    yield ask.init(), ("A", 0)
    yield commit(ask, "A", 0, 10), E.group_id_not_found
    yield commit(ask, "A", 0, 10, generation=int(joined.member_epoch), member=member), E.group_id_not_found


@corner(
    "group-fetch-classic", on="v2", rules="447.16",
    says="""OffsetFetch 9 of a classic group does not ask who fetches: a member that has left, and a generation that is
        past, are answered the offset, or 88 while one is pending.""",
    answered="All of it.",
)  # fmt: skip
def fetch_classic(ask: Asker, _: Bench) -> Steps:
    member, generation = ask.join_group()
    yield ask.init(), ("A", 0)
    yield commit(ask, "A", 0, 10, generation=generation, member=member), E.none
    yield fetch(ask, "nobody", generation + 1), E.unstable_offset_commit
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled()[0], "CompleteCommit"
    yield leave_group(ask, member), E.none
    yield ask.other().join_group()[1] > generation, True
    yield [fetch(ask, "nobody", generation), fetch(ask, member, generation), fetch(ask, "", -1)], [10, 10, 10]


@corner(
    "group-version-6", on="v2", rules="447.22",
    says="""TxnOffsetCommit 6 has a topic by its id; an id that is none is 100. An epoch that is not taken is 113, and
        of a group that is not known any epoch is 69. Before version 6 both are 22.""",
    answered="All of it; 25 and, in a classic group, 22 are what they were.",
)  # fmt: skip
def version_6(ask: Asker, _: Bench) -> Steps:
    topic = topic_id(ask)
    yield ask.init(), ("A", 0)
    yield commit(ask, "A", 0, 10, generation=1, member="nobody", topic=topic), E.group_id_not_found
    yield commit(ask, "A", 0, 10, generation=1, member="nobody"), E.illegal_generation
    owner, other = Member(ask, "owner"), Member(ask, "other")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    yield owner.commit("A", 0, 10, topic=uuid4()), E.unknown_topic_id
    yield owner.commit("A", 0, 10, topic=topic, member="nobody"), E.unknown_member_id
    yield owner.commit("A", 0, 10, topic=topic, generation=before + 1), E.stale_member_epoch
    yield owner.commit("A", 0, 10, generation=before + 1), E.illegal_generation
    other.join()
    (moved,) = other.settle(owner, owned=1)
    yield owner.commit("A", 0, 10, [moved], topic=topic, generation=before), E.stale_member_epoch
    yield owner.commit("A", 0, 10, owner.owned, topic=topic, generation=before), [E.none] * 2
    yield owner.commit("A", 0, 10, ALL, topic=topic), NONE  # one of them is not its own: as in version 5
    yield commit(ask, "A", 0, 11, topic=topic), E.none


@corner(
    "group-version-6-classic", on="v2", rules="447.22",
    says="""In a classic group version 6 answers as version 5 does; a group that is not known is made by a commit
        without a generation.""",
    answered="All of it.",
)  # fmt: skip
def version_6_classic(ask: Asker, _: Bench) -> Steps:
    topic = topic_id(ask)
    yield ask.init(), ("A", 0)
    yield commit(ask, "A", 0, 9, topic=topic), E.none
    member, generation = ask.join_group()
    names = {"generation": generation, "member": member, "topic": topic}
    yield commit(ask, "A", 0, 10, **names), E.none
    yield commit(ask, "A", 0, 10, **{**names, "generation": generation + 1}), E.illegal_generation
    yield commit(ask, "A", 0, 10, **{**names, "member": "nobody"}), E.unknown_member_id
    yield commit(ask, "A", 0, 10, topic=topic), E.none


def _pattern_left(ask: Asker, zombie: Asker, owner: Member) -> Steps:
    """A successor has what the owner gave up; the owner has the epoch at which it had it, and commits."""
    before = owner.epoch
    successor = Member(ask, "successor")
    successor.join()
    yield successor.settle(owned=3), list(ALL)
    yield successor.epoch > before, True
    yield from _overtaken(ask, zombie)
    yield owner.commit("A", 0, 5, generation=before), E.none
    yield from _processed_twice(ask, zombie)


@corner(
    "group-pattern-changed", on="v2", rules="447.21 447.P1 447.P2",
    says="""A member gives its partitions up since it has subscribed by another pattern, in which no topic has been
        found yet: they are free, and its epoch stays (CurrentAssignmentBuilder.updateCurrentAssignment, deduced).
        Until its next heartbeat it commits what it read of them, which another one has read since.""",
    answered="So it is: the input is in the committed output twice, and the committed offset goes back.",
    follows="An epoch does not say that what was owned in it is owned still, if what was subscribed to has changed.",
)  # fmt: skip
def pattern_changed(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    owner = Member(zombie, "owner", pattern=ask.name)
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    yield owner.change(subscribed_topic_regex="nothing-like-it"), (before, ())
    yield owner.beat(), (before, ())
    yield from _pattern_left(ask, zombie, owner)


@corner(
    "group-pattern-changed-rejoined", on="v2", rules="447.21 447.P1 447.P2",
    says="""The same where the member joins again with epoch 0, while the coordinator knows it, and with the other
        pattern: it is taken to have given up everything (KAFKA-19233), without a poll of its application.""",
    answered="The same.",
)  # fmt: skip
def pattern_changed_rejoined(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    owner = Member(zombie, "owner", pattern=ask.name)
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    owner.pattern = "nothing-like-it"
    yield owner.join(), (before, ())
    yield from _pattern_left(ask, zombie, owner)


@corner(
    "group-pattern-changed-in-4.0", on="4.0, v2", rules="447.21",
    says="""Before 4.2 a member keeps what it has until the group has a new assignment, with which its epoch moves:
        under the epoch at which it had the partitions it is refused.""",
    answered="So it is.",
)  # fmt: skip
def pattern_changed_before(ask: Asker, _: Bench) -> Steps:
    owner, successor = Member(ask, "owner", pattern=ask.name), Member(ask, "successor")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    yield owner.change(subscribed_topic_regex="nothing-like-it"), (before, ALL)
    yield successor.join()[1], ()
    yield successor.settle(owner, owned=3), list(ALL)
    yield owner.epoch > before, True
    yield ask.init(), ("A", 0)
    yield owner.commit("A", 0, 5, generation=before), E.illegal_generation


@corner(
    "group-names-changed", on="v2", rules="447.21",
    says="""Where a member subscribes to other topics by their names, the group has a new assignment, and the member a
        new epoch when it has given its partitions up: under the one before it is refused. Since 4.3 that comes
        group.consumer.assignment.interval.ms (1 s) after the last assignment; until then the epoch stays as above.""",
    answered="So it is.",
)  # fmt: skip
def names_changed(ask: Asker, _: Bench) -> Steps:
    owner, other = Member(ask, "owner"), Member(ask, "other")
    yield ask.init(), ("A", 0)
    for member, moves in ((owner, True), (other, False)):
        member.join()
        yield member.settle(owned=3), list(ALL)
        before = member.epoch
        sleep(1.5 if moves else 0)
        yield member.change(subscribed_topic_names=("nothing-like-it",)), (before, ())
        yield member.beat(), (before + moves, ())
        yield member.commit("A", 0, 5, generation=before), E.illegal_generation if moves else E.none


@corner(
    "group-rejoined-while-known", on="v2", rules="447.21",
    says="""A member that joins again with epoch 0 while the coordinator knows it (KAFKA-19233) is given what it had, in
        the epoch that it had, and commits under it. Where a partition of it is to go to another member it is taken to
        have given that up, and its epoch moves: the partition is 22 under the epoch before, and the others are taken
        (KIP-1251).""",
    answered="All of it.",
)  # fmt: skip
def rejoined_while_known(ask: Asker, _: Bench) -> Steps:
    owner, other = Member(ask, "owner"), Member(ask, "other")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    before = owner.epoch
    yield owner.join(), (before, ALL)
    yield ask.init(), ("A", 0)
    yield owner.commit("A", 0, 10, ALL), NONE
    yield other.join()[1], ()
    ask.until(lambda: owner.join()[0] > before)
    kept = list(owner.owned)
    yield len(kept), 2
    (moved,) = other.settle(owned=1)
    yield moved in kept, False
    yield owner.commit("A", 0, 11, kept, generation=before), [E.none] * 2
    yield owner.commit("A", 0, 11, [moved], generation=before), E.illegal_generation


@corner(
    "group-rejoined-while-known-in-4.0", on="4.0, v2", rules="447.21",
    says="Before 4.2 it is FENCED_MEMBER_EPOCH, until its session is over.",
    answered="So it is.",
)  # fmt: skip
def rejoined_while_known_before(ask: Asker, _: Bench) -> Steps:
    owner, other = Member(ask, "owner"), Member(ask, "other")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    yield other.join()[1], ()
    yield other.settle(owner, owned=1) != [], True
    yield owner.join(), E.fenced_member_epoch


@corner(
    "group-epoch-again", on="v2", rules="447.21 447.P1 447.P2",
    says="""A group that has just been assigned is not assigned anew for group.consumer.assignment.interval.ms (1 s,
        since 4.3). A member that was removed, and joins again within that time, has the epoch that it had before
        (GroupMetadataManager.canComputeNextTargetAssignment, deduced). Until its next heartbeat it commits what it read
        before, which another one has read since.""",
    answered="So it is: the input is in the committed output twice, and the committed offset goes back.",
    follows="Neither does an epoch say that a member was one all the time.",
)  # fmt: skip
def epoch_again(ask: Asker, _: Bench) -> Steps:
    zombie = ask.other("zombie")
    owner, successor = Member(zombie, "owner"), Member(ask, "successor")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    successor.join()
    yield len(successor.settle(owner, owned=1)), 1
    before, had = owner.epoch, owner.owned
    yield owner.leave(), E.none
    yield owner.join(), (before, ())
    (moved,) = set(successor.settle(owned=2)) & set(had)
    yield successor.epoch > before, True
    yield from _overtaken(ask, zombie, moved)
    yield owner.commit("A", 0, 5, [moved], generation=before), E.none
    yield from _processed_twice(ask, zombie, moved)


@corner(
    "group-assignment-told-once", on="v2", rules="447.P3",
    says="""A member is told of its partitions when they change, and when it says everything of itself, as it does when
        it joins and after a time-out (GroupMetadataManager.consumerGroupHeartbeat). Where a late copy of a heartbeat is
        what changes them, it is told nothing (deduced).""",
    answered="""So it is: the partition is the member's, which never hears of it, and it is not read until the
        assignment changes again, or the member has a time-out.""",
)  # fmt: skip
def told_once(ask: Asker, _: Bench) -> Steps:
    owner, other = Member(ask, "owner"), Member(ask, "other")
    owner.join()
    yield owner.settle(owned=3), list(ALL)
    other.join()

    def gives_one_up() -> bool:
        owner.beat()
        return len(owner.owned) == 2

    ask.until(gives_one_up)
    yield other.start(), ()  # the answer to this is the last that the member has: nothing is free yet
    owner.beat()
    (moved,) = set(ALL) - set(owner.owned)
    yield other.live(), (moved,)  # a heartbeat from before that, which comes late: its answer is not waited for
    sleep(2)
    owner.beat()
    yield [other.live() for _ in range(3)], [None] * 3
    yield other.start(), (moved,)
