"""What offsets committed in transactions promise to a group, and why it is so.

The idea of the proof: what the coordinator has in memory is a matter of the log up to where it has read, so it makes no
difference whether it was there when the log was written, or read it afterwards.
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
    """Promises about memory and answers; then lemmas about the log, about what was read of it, and about compaction."""

    def is_committed(s, x):
        return s.fate[x] == Fate.COMMITTED

    def is_aborted(s, x):
        return s.fate[x] == Fate.ABORTED

    @promise(rule="txn.P9")
    def memory_is_what_the_log_says(s):
        """A coordinator that has read the log, or what compaction has left of it, has the last committed record in
        force, and nothing if that is a tombstone."""
        return implies(s.is_loaded(), forall(Record, lambda x: (s.in_force == x) == ((s.last == x) & ~s.empty[x])))

    @promise(rule="txn.P3")
    def only_committed_offsets(s):
        """No fetch is answered with an offset of an open or aborted transaction."""
        return forall(Record, lambda x: implies(s.fetched[x], s.is_committed(x)))

    @promise(rule="txn.P2")
    def not_before_it_is_decided(s):
        """No fetch is answered while a transaction may still change the offset: a consumer that
        goes on from it goes on from the records of the same transactions."""
        return ~s.fetched_early

    @service(rule="txn.P10")
    def answered_in_the_end(s):
        """Fetches are refused for a while only, given that markers come."""
        return leads_to(~s.is_answerable(), s.is_answerable())

    def is_answerable(s):
        return s.is_loaded() & s.is_settled()

    @witness(of="memory_is_what_the_log_says")
    def committed_too_late(s):
        """A transaction was committed last, and its offset is not in force: another one stands after it in the log."""
        return s.is_loaded() & exists(
            Record, Record,
            lambda x, y: s.is_committed(x) & (s.in_force == y) & (s.place[x] < s.place[y])
            & (s.decided[y] < s.decided[x]),
        )  # fmt: skip

    @witness(of="memory_is_what_the_log_says")
    def read_again_after_compaction(s):
        """A coordinator is taking over, has passed a record that compaction removed, and has something pending."""
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
        """The coordinator has read up to the end at most, and positions begin with 1."""
        return (1 <= s.cursor) & (s.cursor <= s.end)

    @lemma
    def records_in_the_log(s):
        """Records stand in the log, and were decided there."""
        return forall(
            Record,
            lambda x: implies(
                s.is_written(x),
                (1 <= s.place[x]) & (s.place[x] < s.end) & (s.place[x] <= s.decided[x]) & (s.decided[x] < s.end),
            ),
        )  # fmt: skip

    @lemma
    def one_record_at_a_place(s):
        """No two records stand at one place."""
        return forall(
            Record, Record,
            lambda x, y: implies(s.is_written(x) & s.is_written(y) & (s.place[x] == s.place[y]), x == y),
        )  # fmt: skip

    @lemma
    def nothing_of_what_was_not_written(s):
        """What was not written is no tombstone, of no transaction, and in no memory."""
        return forall(
            Record,
            lambda x: implies(
                ~s.is_written(x), ~s.empty[x] & ~s.transactional[x] & ~s.kept[x] & ~s.pending[x] & ~s.fetched[x]
            ),
        )

    @lemma
    def plain_is_committed(s):
        """What is outside of transactions was committed where it stands; a tombstone is."""
        return forall(
            Record,
            lambda x: implies(
                s.is_written(x) & ~s.transactional[x], s.is_committed(x) & (s.decided[x] == s.place[x])
            )
            & implies(s.empty[x], ~s.transactional[x]),
        )  # fmt: skip

    @lemma
    def markers_in_the_log(s):
        """Markers stand in the log."""
        return forall(Producer, Position, lambda p, o: implies(s.is_marker(p, o), (1 <= o) & (o < s.end)))

    @lemma
    def one_marker_at_a_place(s):
        """No two markers stand at one place."""
        return forall(
            Producer, Producer, Position, lambda p, q, o: implies(s.is_marker(p, o) & s.is_marker(q, o), p == q)
        ) & forall(Producer, Position, lambda p, o: ~(s.commit_marker[p, o] & s.abort_marker[p, o]))

    @lemma
    def markers_beside_records(s):
        """Where a record stands there is no marker."""
        return forall(Record, Producer, lambda x, p: implies(s.is_written(x), ~s.is_marker(p, s.place[x])))

    def is_marker(s, p, o):
        return s.commit_marker[p, o] | s.abort_marker[p, o]

    @lemma
    def decided_by_a_marker(s):
        """A record of a transaction was decided by a marker of its producer, which says so."""
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
        """A producer that has an undecided record here is owed a marker."""
        return forall(Record, Producer, lambda x, p: implies((s.fate[x] == Fate.OPEN) & (s.by[x] == p), s.open[p]))

    @lemma
    def compaction_waits(s):
        """Nothing is removed before it is decided."""
        return forall(Record, lambda x: implies(s.fate[x] == Fate.OPEN, s.kept[x]))

    def was_decided(s, x):
        """The coordinator has read of its fate."""
        return (s.is_committed(x) | s.is_aborted(x)) & (s.decided[x] < s.cursor)

    def awaits_its_marker(s, x):
        """The coordinator has read the record, and not its marker."""
        return s.transactional[x] & (s.place[x] < s.cursor) & ~s.was_decided(x)

    @lemma
    def pending_awaits_its_marker(s):
        """What is pending was read, and its marker was not; its producer waits."""
        return forall(Record, lambda x: implies(s.pending[x], s.awaits_its_marker(x))) & forall(
            Record, Producer, lambda x, p: implies(s.pending[x] & (s.by[x] == p), s.waiting[p])
        )

    @lemma
    def pending_is_the_last(s):
        """What was read, was not removed, and awaits its marker: its producer waits, and has nothing earlier
        pending."""
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
        """What is in force was committed, as far as was read, stands where memory has it, and after every tombstone."""
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
        """No committed record that was read and not removed stands after what is in force, or the last tombstone."""
        return forall(
            Record,
            lambda x: implies(
                s.was_decided(x) & s.is_committed(x) & s.kept[x],
                (s.place[x] <= s.since) | (s.place[x] <= s.emptied_place),
            ),
        )  # fmt: skip

    @lemma
    def the_last_is_the_last(s):
        """No committed record stands after the last one, and compaction leaves it alone."""
        return forall(Record, lambda x: implies(s.is_committed(x), s.place[x] <= s.last_place)) & forall(
            Record,
            lambda x: implies(s.last == x, s.is_committed(x) & s.kept[x] & (s.place[x] == s.last_place)),
        ) & implies(s.last == None, s.last_place == 0)  # fmt: skip  # noqa: E711

    @lemma
    def emptied_by_a_tombstone(s):
        """Where memory was emptied there is a tombstone."""
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
    """What is left of the promises where a marker is dropped."""

    @promise(rule="txn.P5")
    def as_the_coordinator_decided(s):
        """An offset comes to the end that its transaction came to."""
        return forall(
            Record,
            lambda x: implies(
                (s.meant[x] != Fate.NONE) & (s.is_committed(x) | s.is_aborted(x)), s.fate[x] == s.meant[x]
            ),
        )

    @promise(rule="txn.P3")
    def no_aborted_offset_fetched(s):
        """No fetch is answered with an offset of a transaction that was aborted, whatever the log says of it."""
        return forall(Record, lambda x: implies(s.fetched[x], s.meant[x] != Fate.ABORTED))

    @witness(of="as_the_coordinator_decided")
    def decided_elsewhere_only(s):
        """A transaction is over, and its offset is pending."""
        return exists(Record, lambda x: s.pending[x] & (s.meant[x] != Fate.NONE))

    @witness(of="no_aborted_offset_fetched")
    def fetched_beside_what_is_over(s):
        """A fetch was answered, and the offset of an aborted transaction is pending."""
        return exists(Record, Record, lambda x, y: s.fetched[x] & s.pending[y] & (s.meant[y] == Fate.ABORTED))


class OffsetsDeletedProperties(TransactionalOffsetsProperties, of=OffsetsDeleted):
    """The same promises, where offsets are deleted while a transaction has them pending: what counts is still the order
    of the log."""

    @witness(of="memory_is_what_the_log_says")
    def committed_in_vain(s):
        """A transaction was committed after its offset had been deleted: nothing is in force."""
        return s.is_loaded() & (s.in_force == None) & exists(  # noqa: E711
            Record, Record,
            lambda x, y: s.transactional[x] & s.is_committed(x) & s.empty[y] & (s.place[x] < s.place[y])
            & (s.place[y] < s.decided[x]),
        )  # fmt: skip


# What the coordinator of groups answers from is what its log says, and its open batch (txn.P9).


class GroupMemoryProperties(Properties, of=GroupMemory):
    """The promise about memory, batch and log."""

    @promise(rule="txn.P9")
    def memory_is_what_was_written(s):
        """Between operations memory has what is in the log or in the open batch, and nothing else."""
        return implies(
            s.working == None,  # noqa: E711
            forall(Write, lambda w: s.in_memory[w] == (s.in_log[w] | s.in_batch[w])),
        )

    @witness(of="memory_is_what_was_written")
    def written_after_a_failure(s):
        """A batch was given up, one was written, and one is open."""
        return exists(
            Write, Write, Write, lambda u, v, w: s.given_up[u] & s.in_log[v] & s.in_batch[w] & ~s.in_memory[u]
        )

    @lemma
    def one_at_work(s):
        """An operation that is at work has changed memory, and nothing else of memory is unwritten."""
        return forall(
            Write,
            lambda w: implies(
                s.working != None,  # noqa: E711
                s.in_memory[w] == (s.in_log[w] | s.in_batch[w] | (s.working == w)),
            ),
        )

    @lemma
    def each_in_one_place(s):
        """What is in the batch is not in the log, and what is at work in neither; only what was begun is anywhere."""
        return forall(
            Write,
            lambda w: ~(s.in_batch[w] & s.in_log[w])
            & implies(s.working == w, ~s.in_batch[w] & ~s.in_log[w])
            & implies(s.in_batch[w] | s.in_log[w] | (s.working == w), s.begun[w]),
        )  # fmt: skip
