"""Corners of offsets in transactions: when they can be read, whose commit wins, and what the group has to say."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import Bench, Steps, corner
from kio.schema.errors import ErrorCode as E


@corner(
    "offsets-pending", on="v2", rules="txn.21",
    says="""An offset committed in a transaction is pending until the marker: a fetch that wants stable offsets is
        88, another one gets the offset before; an abort leaves that one; an old or a new epoch is 47.""",
    answered="All of it; TxnOffsetCommit 5 begins the transaction by itself.",
)  # fmt: skip
def pending(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.commit_offset("A", 0, 10), E.none
    yield ask.described()[:3], ("Ongoing", "A", 0)
    yield [ask.offset(), ask.offset(stable=False)], [E.unstable_offset_commit, -1]
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.offset(), 10
    yield [ask.commit_offset("A", 1, 11), ask.commit_offset("A", 1, 12)], [E.none, E.none]
    yield [ask.offset(), ask.offset(stable=False)], [E.unstable_offset_commit, 10]
    yield ask.commit_offset("A", 0, 13), E.invalid_producer_epoch
    yield ask.commit_offset("A", 2, 13), E.invalid_producer_epoch
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.offset(), 10


@corner(
    "offsets-two-producers", on="v2", rules="txn.21",
    says="""Of two producers' pending commits the one written later counts, whichever transaction ends later; the
        offset is unstable until both have ended.""",
    answered="All of it.",
)  # fmt: skip
def two_producers(ask: Asker, _: Bench) -> Steps:
    other = ask.other("other")
    yield ask.init(), ("A", 0)
    yield other.init(), ("B", 0)
    yield [ask.commit_offset("A", 0, 10), other.commit_offset("B", 0, 20)], [E.none, E.none]
    yield other.end("B", 0, COMMIT), ("B", 1)
    yield other.settled(), ("CompleteCommit", 1)
    yield [ask.offset(), ask.offset(stable=False)], [E.unstable_offset_commit, 20]
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.offset(), 20


@corner(
    "offsets-deleted", on="v2", rules="txn.21 txn.P2",
    says="""A deletion of the committed offset, or of the group, also drops what is pending: the marker that commits it
        later finds nothing.""",
    answered="""All of it: the deletion is answered 0 while the commit is pending. The records of the transaction are
        committed and its offset is not, although the marker is the later of the two. Kafka means it so (KAFKA-14505,
        PR 15221).""",
    follows="Nothing: operators who delete offsets are neither in the models nor in the reference.",
)  # fmt: skip
def deleted(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    for epoch, delete in enumerate((ask.delete_offset, ask.delete_group)):
        yield ask.produce("A", epoch, 0), 2 * epoch
        yield ask.commit_offset("A", epoch, 10), E.none
        yield ask.offset(), E.unstable_offset_commit
        yield delete(), E.none
        yield ask.offset(), -1
        yield ask.end("A", epoch, COMMIT), ("A", epoch + 1)
        yield ask.settled(), ("CompleteCommit", epoch + 1)
        yield ask.offset(), -1
    yield ask.read(), ["A/0/0", "A/1/0"]


@corner(
    "offsets-group", on="v2", rules="txn.21",
    says="""A group that is not known takes no generation (22) and is made by a commit without one. After that a
        generation is 25 without a member that it knows; generation -1 is taken from any client as long as the group
        is empty.""",
    answered="All of it; the transaction has begun by then, refused or not.",
)  # fmt: skip
def group(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.commit_offset("A", 0, 10, generation=3, member="nobody"), E.illegal_generation
    yield ask.described()[0], "Ongoing"
    yield ask.commit_offset("A", 0, 11), E.none
    yield ask.commit_offset("A", 0, 12, generation=3, member="nobody"), E.unknown_member_id
    yield ask.commit_offset("A", 0, 12, generation=3), E.unknown_member_id
    yield ask.commit_offset("A", 0, 13, member="nobody", instance="nobody"), E.none
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.offset(), 13


@corner(
    "offsets-members", on="v2", rules="txn.21",
    says="""In a group with members the generation must be the current one (22) and the member known (25); a commit
        that names neither is taken all the same, from clients of before KIP-447.""",
    answered="All of it, also while the group rebalances: until the new generation begins the old one commits.",
)  # fmt: skip
def members(ask: Asker, at: Bench) -> Steps:
    member, generation = ask.join_group()
    yield ask.init(), ("A", 0)
    yield ask.commit_offset("A", 0, 10, generation=generation, member=member), E.none
    yield ask.commit_offset("A", 0, 11, generation=generation + 1, member=member), E.illegal_generation
    yield ask.commit_offset("A", 0, 11, generation=generation, member="nobody"), E.unknown_member_id
    yield ask.commit_offset("A", 0, 12), E.none
    other = ask.other()
    joining = at.later(other.join_group)
    ask.until(lambda: ask.heartbeat(member, generation) == E.rebalance_in_progress)
    yield ask.commit_offset("A", 0, 13, generation=generation, member=member), E.none
    again = ask.join_group(member)
    yield again[1], generation + 1
    yield joining.result(20)[1], generation + 1
    yield ask.commit_offset("A", 0, 14, generation=generation, member=member), E.illegal_generation


@corner(
    "offsets-v1-verified", on="v1, verified", rules="txn.15 txn.21",
    says="TxnOffsetCommit of v1 needs AddOffsetsToTxn first: 120 from version 4 on, 48 before.",
    answered="All of it.",
)  # fmt: skip
def verified(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.commit_offset("A", 0, 10), E.transaction_abortable
    yield ask.commit_offset("A", 0, 10, version=3), E.invalid_txn_state
    yield ask.add_offsets("A", 0), E.none
    yield ask.commit_offset("A", 0, 10, version=3), E.none
    yield ask.end("A", 0, COMMIT), E.none
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.offset(), 10
