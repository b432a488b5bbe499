"""This module states what offsets committed in transactions promise to a group, and why.

The idea of the proof: the memory of the coordinator depends only on the log up to where it has read, so it makes no
difference whether it was there when the log was written or read it afterwards.
"""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, lemma, promise, service, witness
from fencepost.model.transactions.parts.group_memory import GroupMemory, Write
from fencepost.model.transactions.parts.offsets import (
    Fate,
    MarkerDropped,
    Position,
    Producer,
    Record,
    TransactionalOffsets,
)
from fencepost.model.transactions.parts.offsets_deleted import OffsetsDeleted


class TransactionalOffsetsProperties(Properties, of=TransactionalOffsets):
    """These properties are promises about memory and answers, then lemmas about the log, about the part of it that was
    read, and about compaction."""

    def is_committed(s, x):
        return s.fate[x] == Fate.COMMITTED

    def is_aborted(s, x):
        return s.fate[x] == Fate.ABORTED

    @promise(rule="txn.P9", broken="a coordinator that has read the log has not the last committed record in force")
    def memory_is_what_the_log_says(s):
        """A coordinator that has read the log, or what compaction has left of it, has the last committed record in
        force, and no record if that one is a tombstone."""
        return implies(s.is_loaded(), forall(Record, lambda x: (s.in_force == x) == ((s.last == x) & ~s.empty[x])))

    @promise(rule="txn.P3", broken="a fetch was answered with the offset at {x}, which is not committed")
    def only_committed_offsets(s):
        """No fetch is answered with an offset of an open or aborted transaction."""
        return forall(Record, lambda x: implies(s.fetched[x], s.is_committed(x)))

    @promise(rule="txn.P2", broken="a fetch was answered while a transaction might still change the offset")
    def not_before_it_is_decided(s):
        """No fetch is answered while a transaction may still change the offset, because a consumer that resumes there
        would process records of that transaction again."""
        return ~s.fetched_early

    @service(rule="txn.P10", broken="fetches of offsets are refused for ever")
    def answered_in_the_end(s):
        """Fetches of offsets are refused for a while only, given that markers arrive."""
        return leads_to(~s.is_answerable(), s.is_answerable())

    def is_answerable(s):
        return s.is_loaded() & s.is_settled()

    @witness(of="memory_is_what_the_log_says")
    def committed_too_late(s):
        """A transaction was committed last, and its offset is not in force because another offset stands after it in
        the log."""
        return s.is_loaded() & exists(
            Record, Record,
            lambda x, y: s.is_committed(x) & (s.in_force == y) & (s.place[x] < s.place[y])
            & (s.decided[y] < s.decided[x]),
        )  # fmt: skip

    @witness(of="memory_is_what_the_log_says")
    def read_again_after_compaction(s):
        """A coordinator that takes over has passed a record that compaction removed, and has an offset pending."""
        return ~s.is_loaded() & exists(
            Record, Record,
            lambda x, y: s.is_committed(x) & ~s.kept[x] & (s.place[x] < s.cursor) & s.pending[y],
        )  # fmt: skip

    @witness(of="only_committed_offsets")
    def fetched_beside_an_aborted_one(s):
        """A fetch was answered with the offset of a committed transaction, and a later one was aborted."""
        return exists(
            Record, Record, lambda x, y: s.fetched[x] & s.transactional[x] & s.is_aborted(y) & (s.place[x] < s.place[y])
        )

    @witness(of="not_before_it_is_decided")
    def refused_for_a_while(s):
        """A fetch was answered, and commits of two transactions are pending, so that the next one is refused."""
        return exists(
            Record, Record, Record,
            lambda x, y, z: s.fetched[x] & s.pending[y] & s.pending[z] & (s.by[y] != s.by[z]),
        )  # fmt: skip

    @lemma
    def cursor_in_the_log(s):
        """The coordinator has read up to the end of the log at most, and positions begin with 1."""
        return (1 <= s.cursor) & (s.cursor <= s.end)

    @lemma
    def records_in_the_log(s):
        """Records that were written stand in the log, and were decided there."""
        return forall(
            Record,
            lambda x: implies(
                s.is_written(x),
                (1 <= s.place[x]) & (s.place[x] < s.end) & (s.place[x] <= s.decided[x]) & (s.decided[x] < s.end),
            ),
        )  # fmt: skip

    @lemma
    def one_record_at_a_place(s):
        """No two records stand at one position of the log."""
        return forall(
            Record, Record,
            lambda x, y: implies(s.is_written(x) & s.is_written(y) & (s.place[x] == s.place[y]), x == y),
        )  # fmt: skip

    @lemma
    def nothing_of_what_was_not_written(s):
        """A record that was not written is no tombstone, belongs to no transaction, and is in no memory."""
        return forall(
            Record,
            lambda x: implies(
                ~s.is_written(x), ~s.empty[x] & ~s.transactional[x] & ~s.kept[x] & ~s.pending[x] & ~s.fetched[x]
            ),
        )

    @lemma
    def plain_is_committed(s):
        """A record outside of transactions counts as committed at its own position, and tombstones are such records."""
        return forall(
            Record,
            lambda x: implies(
                s.is_written(x) & ~s.transactional[x], s.is_committed(x) & (s.decided[x] == s.place[x])
            )
            & implies(s.empty[x], ~s.transactional[x]),
        )  # fmt: skip

    @lemma
    def markers_in_the_log(s):
        """Every marker stands at a position in the log."""
        return forall(Producer, Position, lambda p, o: implies(s.is_marker(p, o), (1 <= o) & (o < s.end)))

    @lemma
    def one_marker_at_a_place(s):
        """No two markers stand at one position of the log."""
        return forall(
            Producer, Producer, Position, lambda p, q, o: implies(s.is_marker(p, o) & s.is_marker(q, o), p == q)
        ) & forall(Producer, Position, lambda p, o: ~(s.commit_marker[p, o] & s.abort_marker[p, o]))

    @lemma
    def markers_beside_records(s):
        """No marker stands at the position of a record."""
        return forall(Record, Producer, lambda x, p: implies(s.is_written(x), ~s.is_marker(p, s.place[x])))

    def is_marker(s, p, o):
        return s.commit_marker[p, o] | s.abort_marker[p, o]

    @lemma
    def decided_by_a_marker(s):
        """A record of a transaction was committed or aborted by a marker of its producer with that outcome."""
        return forall(
            Record,
            lambda x: (
                implies(s.transactional[x] & s.is_committed(x), s.commit_marker[s.by[x], s.decided[x]])
                & implies(s.is_aborted(x), s.transactional[x] & s.abort_marker[s.by[x], s.decided[x]])
            ),
        )

    @lemma
    def decided_by_the_first_marker(s):
        """A record of a transaction was decided by the first marker of its producer that comes after it."""
        return forall(
            Record, Producer, Position,
            lambda x, p, o: implies(
                s.transactional[x] & (s.by[x] == p) & (s.place[x] < o) & s.is_marker(p, o),
                (s.fate[x] != Fate.OPEN) & (s.decided[x] <= o),
            ),
        )  # fmt: skip

    @lemma
    def open_is_owed_a_marker(s):
        """A producer that has an undecided record in the partition will get a marker there."""
        return forall(Record, Producer, lambda x, p: implies((s.fate[x] == Fate.OPEN) & (s.by[x] == p), s.open[p]))

    @lemma
    def compaction_waits(s):
        """Compaction removes no record that is undecided."""
        return forall(Record, lambda x: implies(s.fate[x] == Fate.OPEN, s.kept[x]))

    def was_decided(s, x):
        """Decide whether the coordinator has read the position where the record was decided."""
        return (s.is_committed(x) | s.is_aborted(x)) & (s.decided[x] < s.cursor)

    def awaits_its_marker(s, x):
        """Decide whether the coordinator has read the record but not its marker."""
        return s.transactional[x] & (s.place[x] < s.cursor) & ~s.was_decided(x)

    @lemma
    def pending_awaits_its_marker(s):
        """A pending record was read and its marker was not, and its producer waits."""
        return forall(Record, lambda x: implies(s.pending[x], s.awaits_its_marker(x))) & forall(
            Record, Producer, lambda x, p: implies(s.pending[x] & (s.by[x] == p), s.waiting[p])
        )

    @lemma
    def pending_is_the_last(s):
        """The producer of a record that was read, was not removed, and awaits its marker is waiting, and has no earlier
        record pending."""
        return forall(
            Record, Producer,
            lambda x, p: implies(s.awaits_its_marker(x) & s.kept[x] & (s.by[x] == p), s.waiting[p]),
        ) & forall(
            Record, Record,
            lambda x, y: implies(
                s.awaits_its_marker(x) & s.kept[x] & s.pending[y] & (s.by[x] == s.by[y]), s.place[x] <= s.place[y]
            ),
        )  # fmt: skip

    @lemma
    def in_force_was_decided(s):
        """The record in force was committed at a position that was read, stands where memory has it, and stands after
        every tombstone."""
        return (
            forall(
                Record,
                lambda x: implies(
                    s.in_force == x,
                    s.was_decided(x) & s.is_committed(x) & ~s.empty[x] & (s.since == s.place[x])
                    & (s.emptied_place < s.place[x]),
                ),
            )
            & implies(s.in_force == None, s.since == 0)  # noqa: E711
        )  # fmt: skip

    @lemma
    def committed_is_in_force_or_replaced(s):
        """No committed record that was read and not removed stands after the record in force, or after the last
        tombstone."""
        return forall(
            Record,
            lambda x: implies(
                s.was_decided(x) & s.is_committed(x) & s.kept[x],
                (s.place[x] <= s.since) | (s.place[x] <= s.emptied_place),
            ),
        )  # fmt: skip

    @lemma
    def the_last_is_the_last(s):
        """No committed record stands after the last one, and compaction does not remove the last one."""
        return forall(Record, lambda x: implies(s.is_committed(x), s.place[x] <= s.last_place)) & forall(
            Record,
            lambda x: implies(s.last == x, s.is_committed(x) & s.kept[x] & (s.place[x] == s.last_place)),
        ) & implies(s.last == None, s.last_place == 0)  # fmt: skip  # noqa: E711

    @lemma
    def emptied_by_a_tombstone(s):
        """At the position where memory was emptied there is a tombstone."""
        return forall(
            Record,
            lambda t: implies(
                s.emptied == t, s.empty[t] & s.was_decided(t) & s.is_committed(t) & (s.place[t] == s.emptied_place)
            ),
        ) & implies(s.emptied == None, s.emptied_place == 0)  # fmt: skip  # noqa: E711

    @lemma
    def tombstones_settle(s):
        """No transaction that began before a tombstone was decided after it."""
        return forall(
            Record, Record,
            lambda x, t: implies(
                s.empty[t] & s.transactional[x] & (s.place[x] < s.place[t]),
                (s.fate[x] != Fate.OPEN) & (s.decided[x] < s.place[t]),
            ),
        )  # fmt: skip


class MarkerDroppedProperties(TransactionalOffsetsProperties, of=MarkerDropped):
    """These are the promises that still hold where a marker is dropped."""

    @promise(rule="txn.P5", broken="the offset at {x} ended otherwise than its transaction")
    def as_the_coordinator_decided(s):
        """An offset is committed or aborted as its transaction was."""
        return forall(
            Record,
            lambda x: implies(
                (s.meant[x] != Fate.NONE) & (s.is_committed(x) | s.is_aborted(x)), s.fate[x] == s.meant[x]
            ),
        )

    @promise(rule="txn.P3", broken="a fetch was answered with the offset at {x}, whose transaction was aborted")
    def no_aborted_offset_fetched(s):
        """No fetch is answered with an offset of a transaction that was aborted, even if the log has no abort marker
        for it."""
        return forall(Record, lambda x: implies(s.fetched[x], s.meant[x] != Fate.ABORTED))

    @witness(of="as_the_coordinator_decided")
    def decided_elsewhere_only(s):
        """A transaction has ended, and its offset is still pending."""
        return exists(Record, lambda x: s.pending[x] & (s.meant[x] != Fate.NONE))

    @witness(of="no_aborted_offset_fetched")
    def fetched_beside_what_is_over(s):
        """A fetch was answered, and the offset of an aborted transaction is pending."""
        return exists(Record, Record, lambda x, y: s.fetched[x] & s.pending[y] & (s.meant[y] == Fate.ABORTED))


class OffsetsDeletedProperties(TransactionalOffsetsProperties, of=OffsetsDeleted):
    """These are the same promises where offsets are deleted while a transaction has them pending; the order of the log
    still decides."""

    @witness(of="memory_is_what_the_log_says")
    def committed_in_vain(s):
        """A transaction was committed after its offset had been deleted, and no offset is in force."""
        return s.is_loaded() & (s.in_force == None) & exists(  # noqa: E711
            Record, Record,
            lambda x, y: s.transactional[x] & s.is_committed(x) & s.empty[y] & (s.place[x] < s.place[y])
            & (s.place[y] < s.decided[x]),
        )  # fmt: skip


# The coordinator of groups answers from what is in its log and in its open batch (txn.P9).


class GroupMemoryProperties(Properties, of=GroupMemory):
    """This is the promise about the memory, the open batch and the log of a group coordinator."""

    @promise(rule="txn.P9", broken="between operations the coordinator's memory differs from log and open batch in {w}")
    def memory_is_what_was_written(s):
        """Between operations the coordinator's memory has exactly what is in the log or in the open batch."""
        return implies(
            s.working == None,  # noqa: E711
            forall(Write, lambda w: s.in_memory[w] == (s.in_log[w] | s.in_batch[w])),
        )

    @witness(of="memory_is_what_was_written")
    def written_after_a_failure(s):
        """One batch was given up, another was written, and a third is open."""
        return exists(
            Write, Write, Write, lambda u, v, w: s.given_up[u] & s.in_log[v] & s.in_batch[w] & ~s.in_memory[u]
        )

    @lemma
    def one_at_work(s):
        """An operation that is at work has changed memory, and the rest of memory is in the log or in the batch."""
        return forall(
            Write,
            lambda w: implies(
                s.working != None,  # noqa: E711
                s.in_memory[w] == (s.in_log[w] | s.in_batch[w] | (s.working == w)),
            ),
        )

    @lemma
    def each_in_one_place(s):
        """A write in the batch is not in the log, one that is at work is in neither, and only writes that were begun
        are anywhere."""
        return forall(
            Write,
            lambda w: ~(s.in_batch[w] & s.in_log[w])
            & implies(s.working == w, ~s.in_batch[w] & ~s.in_log[w])
            & implies(s.in_batch[w] | s.in_log[w] | (s.working == w), s.begun[w]),
        )  # fmt: skip
