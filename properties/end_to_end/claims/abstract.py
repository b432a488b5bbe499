"""From the sources to the sink, by what the parts promise.

The chain is short.  Connect lets one instance at a time commit of what reads a source partition, and transactions take
a commit from no other: so what is committed begins where the last commit ended (`goes_on_where_it_ended`), and a reader
of the log is given the records in order (`in_order`).  A producer id is one transactional id's, so that markers settle
their own offsets only.  The group has each of its inputs once in what it commits: so the sink has each record once.
"""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.language import (
    Part,
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    refinement,
    service,
    when,
    witness,
)
from fencepost.model.source_offsets.delivered import Delivered
from fencepost.model.task_counts.abstract.core import Generation, Instance, Task
from fencepost.properties.end_to_end.claims.interfaces import (
    AdmissionProperties,
    DeliveredProperties,
    HandedProperties,
)
from fencepost.properties.end_to_end.claims.producers import ProducersProperties


class Promises(Properties):
    """What is promised of the whole."""

    @promise(rule="618.P2")
    def each_once(s):
        """No source record is in the committed sink twice."""
        return forall(
            Offset, Offset,
            lambda i, j: implies(s.is_place(i) & s.is_place(j) & (s.sink[i] == s.sink[j]), i == j),
        )  # fmt: skip

    @promise(rule="618.P2")
    def none_left_out(s):
        """At each place of the committed sink is the record of this number: none before it is left out."""
        return forall(Offset, lambda i: implies(s.is_place(i), s.sink[i] == i))

    def is_place(s, i):
        return (0 < i) & (i <= s.copies)

    @promise(rule="618.P2")
    def resumes_where_it_ended(s):
        """The next task goes on from where the committed output ends, or a marker is on its way that says so."""
        return forall(Partition, lambda p: (s.source.stored[p] == s.source.done[p]) | s.done_is_coming(p))

    def done_is_coming(s, p):
        """The marker for the stored offset is."""
        offset = s.source.pending[p]
        return (0 < offset) & (offset == s.source.done[p]) & s.is_committing(s.source.sender[p])

    @service(rule="txn.P10")
    def comes_to_the_sink(s, i: Offset):
        """What a task has committed is in the committed sink in the end."""
        return leads_to((0 < i) & (i <= s.source.done[s.watched]), i <= s.copies)

    @witness(of="each_once")
    def written_by_two(s):
        """A record that an instance wrote is in the sink, and another instance, which shut that one out, goes on."""
        return (0 < s.copies) & exists(
            Instance, Instance,
            lambda j, k: (j != k) & s.polls(j) & s.polls(k) & s.txn.fenced[j] & ~s.txn.fenced[k]
            & s.source.resumed[j, s.watched] & s.source.resumed[k, s.watched] & (s.source.base[k, s.watched] == 1),
        )  # fmt: skip

    @witness(of="none_left_out")
    def copied_in_two(s):
        """Two records are in the sink."""
        return 1 < s.copies

    @witness(of="resumes_where_it_ended")
    def ahead_of_the_offset(s):
        """Records of a transaction are read by the group, whose source offset has no marker yet."""
        return exists(Partition, lambda p: s.source.stored[p] < s.source.end[p])

    @witness(of="comes_to_the_sink")
    def committed_and_not_given(s):
        """A task has committed a record that no reader is given yet."""
        return s.source.end[s.watched] < s.source.done[s.watched]

    @witness(of="resumes_where_it_ended")
    def zombie_writes(s):
        """An instance that was shut out has records in the log, or had, that no commit will count."""
        return exists(
            Instance, Partition,
            lambda k, p: s.polls(k) & s.txn.fenced[k] & s.source.resumed[k, p]
            & (s.source.base[k, p] < s.source.next[k, p]),
        )  # fmt: skip


class EndToEndProperties(Promises, of=EndToEnd):
    """Why it keeps them."""

    connect: Part[AdmissionProperties]
    txn: Part[ProducersProperties]
    ids: Part[HandedProperties]
    group: Part[DeliveredProperties]

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def source_does_as_delivered(s, p: Partition):
        """What the readers of a source partition's log rely on, and what its next task finds."""
        return {
            "end": s.source.done[p],
            "resume": when(s.done_is_coming(p), s.source.done[p], s.source.stored[p]),
            "amiss": s.source.amiss[p],
        }

    # Who may commit: Connect and transactions

    @lemma
    def opened_in_its_name(s):
        """An instance that has opened its producer did so with the transactional id of its task."""
        return forall(
            Instance,
            lambda k: implies(s.connect.opened[k], s.txn.known[k] & (s.txn.name[k] == s.connect.task[k])),
        )  # fmt: skip

    @lemma
    def not_fenced_in_either(s):
        """Who is fenced in Connect is fenced in transactions: there it may be earlier."""
        return forall(Instance, lambda k: implies(s.connect.opened[k] & ~s.txn.fenced[k], s.connect.live[k]))

    @lemma
    def commits_while_running(s):
        """An instance polls whose commit is on its way, or is taken and not everywhere; its offsets came before."""
        return forall(
            Instance,
            lambda k: implies(s.asked[k] | s.is_committing(k), s.polls(k))
            & implies(s.asked[k] & ~s.txn.fenced[k], s.txn.is_current(k) & s.txn.has_offsets[k]),
        )  # fmt: skip

    def may_commit(s, k):
        """Its producer is not fenced, and it polls."""
        return s.polls(k) & ~s.txn.fenced[k]

    @lemma
    def one_reader(s):
        """Of the instances that may commit one at most reads a source partition."""
        return forall(
            Instance, Instance, Partition,
            lambda j, k, p: implies(s.may_commit(j) & s.may_commit(k) & s.reads(j, p) & s.reads(k, p), j == k),
        )  # fmt: skip

    @lemma
    def planned_for_one(s):
        """A set has a source partition for one task at most."""
        return forall(
            Generation, Task, Task, Partition,
            lambda g, i, j, p: implies(s.planned[g, i, p] & s.planned[g, j, p], i == j),
        )  # fmt: skip

    @lemma
    def resumed_is_read(s):
        """An instance has resumed from the source partitions of its task, and of no others."""
        return forall(
            Instance,
            Partition,
            lambda k, p: implies(s.connect.opened[k] & s.source.resumed[k, p], s.reads(k, p) & s.polls(k)),
        )

    # Producer ids

    @lemma
    def ids_were_handed_out(s):
        """The producer id of a transactional id was handed out."""
        return forall(Task, lambda i: implies(s.known[i], s.ids.given[s.id[i]]))

    @lemma
    def ids_are_their_own(s):
        """No two transactional ids have one producer id."""
        return forall(Task, Task, lambda i, j: implies(s.known[i] & s.known[j] & (s.id[i] == s.id[j]), i == j))

    @lemma
    def under_its_own_id(s):
        """A producer writes under the producer id of its transactional id."""
        return forall(
            Instance,
            lambda k: implies(s.txn.known[k], s.known[s.txn.name[k]] & (s.source.under[k] == s.id[s.txn.name[k]])),
        )

    # What is in the logs

    @lemma
    def written_in_transactions(s):
        """What an instance wrote that is undecided is in its transaction, past where that begins."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(s.source.wrote[k, p], s.txn.has[k, p])
            & implies(s.source.resumed[k, p], s.source.base[k, p] <= s.source.next[k, p])
            & implies(s.source.wrote[k, p], s.source.base[k, p] < s.source.next[k, p]),
        )  # fmt: skip

    @lemma
    def wrote_what_it_reads(s):
        """What is in the transaction of an instance is of source partitions from which it resumed."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(s.connect.opened[k] & s.source.wrote[k, p], s.source.resumed[k, p]),
        )  # fmt: skip

    @lemma
    def pending_in_a_transaction(s):
        """A source offset that is pending is in the transaction of the instance that sent it."""
        return forall(Partition, lambda p: implies(0 < s.source.pending[p], s.txn.has_offsets[s.source.sender[p]]))

    @lemma
    def pending_of_its_own(s):
        """That instance resumed from the source partition, if it is still there."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                (0 < s.source.pending[p]) & (s.source.sender[p] == k) & s.connect.opened[k], s.source.resumed[k, p]
            ),
        )  # fmt: skip

    @lemma
    def pending_is_done(s):
        """If its transaction is committed, the offset says where the output ends."""
        return forall(
            Partition,
            lambda p: implies(
                0 < s.source.pending[p],
                (s.source.pending[p] == s.source.done[p]) | ~s.is_committing(s.source.sender[p]),
            ),
        )  # fmt: skip

    @lemma
    def offsets_of_the_records(s):
        """The offsets that are pending of an open transaction are of the records in it."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                s.connect.opened[k] & s.txn.has_offsets[k] & s.txn.is_current(k) & s.source.wrote[k, p],
                (s.source.pending[p] == s.source.next[k, p]) & (s.source.sender[p] == k),
            ),
        ) & forall(
            Instance, Partition,
            lambda k, p: implies(
                (0 < s.source.pending[p]) & (s.source.sender[p] == k) & s.txn.is_current(k), s.source.wrote[k, p]
            ),
        )  # fmt: skip

    @lemma
    def goes_on_where_it_ended(s):
        """An instance that may commit, and has resumed, goes on where the committed output ends; what it has committed
        is where it ends."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                s.may_commit(k) & s.source.resumed[k, p],
                when(
                    s.is_committing(k) & s.source.wrote[k, p],
                    (s.source.next[k, p] == s.source.done[p]) & (s.source.base[k, p] == s.source.end[p]),
                    s.source.base[k, p] == s.source.done[p],
                ),
            ),
        )  # fmt: skip

    @lemma
    def output_ends_there(s):
        """A reader is given what is committed, but for what has its marker on the way."""
        return forall(
            Partition,
            lambda p: when(
                s.source.coming[p],
                s.is_committing(s.source.committer[p]) & s.source.wrote[s.source.committer[p], p],
                s.source.end[p] == s.source.done[p],
            ),
        )  # fmt: skip

    @lemma
    def nothing_amiss(s):
        """Every transaction of a source partition began where the last one ended."""
        return forall(Partition, lambda p: ~s.source.amiss[p])

    @lemma
    def in_order(s):
        """A reader of a log is given the records of the source in order, each once."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.source.end[p]), s.source.record[p, i] == i),
        )  # fmt: skip

    # The group

    @lemma
    def sink_in_step(s):
        """The sink ends where a member of the group would go on."""
        return s.copies == s.group.resume

    @lemma
    def copies_what_is_there(s):
        """The group has copied no more than a reader is given."""
        return s.group.end <= s.source.end[s.watched]
