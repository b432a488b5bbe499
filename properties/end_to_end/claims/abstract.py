"""This module has the interfaces that the whole is proved from: the promises of each, and the proofs that the cores do
nothing else."""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.interfaces import Admission, Handed
from fencepost.model.end_to_end.producers import Log, Producer, Producers
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Fate, Member, Offset, Partition
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    Part,
    Properties,
    each,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    receptive,
    refinement,
    service,
    when,
    witness,
)
from fencepost.model.source_offsets.delivered import Delivered
from fencepost.model.task_counts.abstract.core import Generation, Instance, Stage, Task
from fencepost.model.task_counts.abstract.cores import ShippedCore
from fencepost.model.transactions.abstract.core import Outcome
from fencepost.model.transactions.abstract.fated import Fated
from fencepost.properties.group_fencing.claims.shipped import ShippedLemmas as GroupLemmas
from fencepost.properties.id_blocks.claims import KraftProperties
from fencepost.properties.task_counts.claims.core import ShippedLemmas as ConnectLemmas


class AdmissionProperties(Properties, of=Admission):
    """Connect's interface promises which instances can commit."""

    @promise(rule="618.P1", broken="{j} and {k} can commit, and are of different sets")
    def one_set_by_the_interface(s):
        """Instances that can commit are of one set of task configurations."""
        return forall(Instance, Instance, lambda j, k: implies(s.can_commit(j) & s.can_commit(k), s.of[j] == s.of[k]))

    @promise(rule="618.P1", broken="{j} and {k} can commit, and are of one task")
    def one_of_each_by_the_interface(s):
        """No two instances of one task can commit."""
        return forall(
            Instance, Instance,
            lambda j, k: implies(s.can_commit(j) & s.can_commit(k) & (s.task[j] == s.task[k]), j == k),
        )  # fmt: skip

    @witness(of="one_set_by_the_interface")
    def another_set(s):
        """An instance of one set can commit, and one of another set polls and cannot commit."""
        return exists(Instance, Instance, lambda j, k: s.can_commit(j) & s.polls[k] & ~s.live[k] & (s.of[j] != s.of[k]))

    @witness(of="one_of_each_by_the_interface")
    def another_instance(s):
        """Two instances of a task poll, and one of them can commit."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & s.polls[k] & (j != k) & (s.task[j] == s.task[k]),
        )  # fmt: skip

    @lemma
    def opened_before(s):
        """An instance polls, or has a producer that is not fenced, only if it has opened a producer."""
        return forall(Instance, lambda k: implies(s.polls[k] | s.live[k], s.opened[k]))

    @lemma
    def one_live(s):
        """At most one instance of a task has a producer that is not fenced."""
        return forall(
            Instance, Instance, lambda j, k: implies(s.live[j] & s.live[k] & (s.task[j] == s.task[k]), j == k)
        )


class HandedProperties(Properties, of=Handed):
    """The interface of producer ids promises that each id is handed out once."""

    @promise(rule="730.P1", broken="a producer id is handed out again")
    def none_twice_by_the_interface(s):
        """No producer id is handed out again."""
        return ~s.twice

    @witness(of="none_twice_by_the_interface")
    def some_given(s):
        """Two producer ids are used."""
        return exists(Id, Id, lambda i, j: (i != j) & s.given[i] & s.given[j])


class DeliveredProperties(Properties, of=Delivered):
    """The interface of a partition's committed output promises that a restart resumes where the output ends."""

    @lemma
    def in_step(s):
        """A restart resumes where the committed output ends, and no record is repeated or left out."""
        return (s.resume == s.end) & ~s.amiss


class AdmittedByConnect(ConnectLemmas, of=ShippedCore):
    """Connect as it shipped refines its interface."""

    @refinement(
        of=Admission,
        actions={
            "check_after": ("let_poll", "stop"), "fence": ("fence",), "fence_late": ("fence",),
            **dict.fromkeys(("elect", "depose", "reconfigure", "start_round", "check_round", "write_count",
                             "write_refused", "fail_round", "answer"), ()),
        },
    )  # fmt: skip
    def does_as_admission(s):
        """The stages of Connect's instances refine the interface that defines which instances can commit."""
        return {
            "opened": each(lambda k: (s.stage[k] == Stage.PRODUCER) | (s.stage[k] == Stage.RUNNING)),
            "polls": each(lambda k: s.stage[k] == Stage.RUNNING),
            "live": each(lambda k: s.live[k]),
            "of": each(lambda k: s.of[k]),
            "task": each(lambda k: s.task[k]),
        }


class HandedByKraft(KraftProperties, of=Kraft):
    """The id blocks of KRaft hand out producer ids as their interface requires."""

    @refinement(of=Handed)
    def does_as_handed(s):
        """The producer ids that KRaft has handed out, and whether any was handed out twice, refine the interface of
        producer ids."""
        return {"given": each(lambda i: s.given[i]), "twice": s.given_twice}


class DeliveredByGroup(GroupLemmas, of=Shipped):
    """A group that copies refines the interface of committed output for each of its input partitions, whose inputs are
    the records."""

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def does_as_delivered(s, p: Partition):
        """The end of a partition's committed output, and the place where its owner goes on, refine the interface of
        committed output."""
        coming = exists(
            Member,
            lambda m: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.pending[m, p] == s.done[p]),
        )
        return {
            "end": s.done[p],
            "resume": when(coming, s.done[p], s.committed[p]),
            "amiss": s.twice | s.skipped,
        }


# The transactions of many producers are, for each producer and each log, the interface of one and nothing else.

STEPS: dict[str, tuple[str, ...]] = {
    "initialise": ("initialise", "fence"), "accept_offsets": ("accept",), "mark": ("end",), "mark_offsets": ("end",),
    "complete": ("end",), "give_up": ("give_up", "fence"), "accept_in_vain": (), "accept_offsets_in_vain": (),
}  # fmt: skip


class ProducersProperties(Properties, of=Producers):
    """The interface of producers promises what holds of each producer, and between those of one transactional id."""

    @promise(rule="txn.P7", broken="{j} and {k} both have the newest epoch of one transactional id")
    def one_newest_by_the_interface(s):
        """At most one producer of a transactional id has the newest epoch."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(s.alike(j, k) & ~s.fenced[j] & ~s.fenced[k], j == k),
        )  # fmt: skip

    def alike(s, j, k):
        return s.known[j] & s.known[k] & (s.name[j] == s.name[k])

    @promise(
        rule="txn.P1",
        broken="a producer that is not the newest of its transactional id has something in a log that may "
        "still be committed",
    )
    def nothing_of_the_fenced_by_the_interface(s):
        """Where a producer has the newest epoch, no other producer of the id has anything in a log that may still be
        committed."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(
                s.alike(j, k) & ~s.fenced[k] & (j != k), ~s.open[j] & ~s.is_decided(j) & ~s.has_offsets[j]
            ),
        ) & forall(
            Producer, Producer, Log,
            lambda j, k, q: implies(s.alike(j, k) & ~s.fenced[k] & (j != k), ~s.has[j, q]),
        )  # fmt: skip

    @witness(of="one_newest_by_the_interface")
    def one_after_another(s):
        """A producer has been fenced by another one of its transactional id."""
        return exists(Producer, Producer, lambda j, k: s.alike(j, k) & s.fenced[j] & ~s.fenced[k])

    @witness(of="nothing_of_the_fenced_by_the_interface")
    def shut_out_in_between(s):
        """A producer has begun a transaction, and another producer of its transactional id was fenced."""
        return exists(Producer, Producer, lambda j, k: s.alike(j, k) & s.fenced[j] & s.open[k])

    @lemma
    def one_unsettled(s):
        """At most one producer of a transactional id has a transaction that is not over."""
        return forall(
            Producer, Producer,
            lambda j, k: implies(s.alike(j, k) & s.is_at_it(j) & s.is_at_it(k), j == k),
        )  # fmt: skip

    def is_at_it(s, k):
        return s.open[k] | s.is_decided(k)

    @lemma
    def open_is_of_the_newest(s):
        """A producer with an open transaction has the newest epoch of an id, and a producer whose transaction is open
        or decided has an id."""
        return forall(
            Producer, lambda k: implies(s.open[k], ~s.fenced[k]) & implies(s.is_at_it(k), s.known[k])
        )  # fmt: skip

    @lemma
    def waiting_is_decided(s):
        """A transaction that awaits a marker is decided."""
        return forall(Producer, lambda k: implies(s.awaits_offsets[k], s.is_decided(k))) & forall(
            Producer, Log, lambda k, q: implies(s.awaits[k, q], s.is_decided(k))
        )

    @lemma
    def all_that_is_there_waits(s):
        """Records in a log await the marker of their transaction, or their transaction is open."""
        return forall(
            Producer, Log,
            lambda k, q: implies(s.has[k, q], when(s.is_decided(k), s.awaits[k, q], s.open[k])),
        ) & forall(
            Producer,
            lambda k: implies(s.has_offsets[k], when(s.is_decided(k), s.awaits_offsets[k], s.open[k])),
        )  # fmt: skip

    @lemma
    def committed_by_the_newest(s):
        """A transaction whose markers commit it is of a producer that is not fenced."""
        return forall(Producer, lambda k: implies(s.outcome[k] == Outcome.COMMIT, ~s.fenced[k]))

    def view(s, k, has, awaits):
        return {
            "open": s.open[k],
            "accepted": has & ~(awaits & (s.outcome[k] == Outcome.ABORT)),
            "decided": when(awaits, s.outcome[k], Outcome.NONE),
            "fenced": s.fenced[k],
            "astray": has & ~awaits & ~s.is_current(k),
        }

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, k: Producer, o: Log):
        """A producer's transaction refines the interface of transactions in each log of records."""
        return s.view(k, s.has[k, o], s.awaits[k, o])

    @refinement(of=Fated, actions=STEPS)
    def offsets_do_as_fated(s, k: Producer):
        """A producer's transaction refines the interface of transactions in the log of offsets."""
        return s.view(k, s.has_offsets[k], s.awaits_offsets[k])


class MarkersCome(ProducersProperties, of=Producers):
    """No step of the interface blocks the arrival of markers."""

    @receptive(ProducersProperties.does_as_fated, "end")
    def markers_come(s):
        """A marker that may arrive at a log of records is never blocked."""

    @receptive(ProducersProperties.offsets_do_as_fated, "end")
    def markers_come_to_offsets(s):
        """A marker that may arrive at the log of offsets is never blocked."""


# The promises from the sources to the sink follow from those of the parts.
#
# The chain is short. Connect lets one instance at a time commit records of a source partition, and transactions accept
# a commit from no other. So each committed transaction begins where the last one ended (`goes_on_where_it_ended`), and
# a reader of the log gets the records in order (`in_order`). A producer id belongs to one transactional id, so that
# markers settle their own offsets only. The group has each of its inputs once in its committed output, and so the sink
# has each record once.


class Promises(Properties):
    """The whole system promises that each source record is in the committed sink once, in order."""

    @promise(rule="618.P2", broken="the committed sink has one source record at {i} and at {j}")
    def each_once(s):
        """No source record is in the committed sink twice."""
        return forall(
            Offset, Offset,
            lambda i, j: implies(s.is_place(i) & s.is_place(j) & (s.sink[i] == s.sink[j]), i == j),
        )  # fmt: skip

    @promise(rule="618.P2", broken="at {i} the committed sink has another source record than that of this number")
    def none_left_out(s):
        """At each place of the committed sink is the source record of this number, so that no record before it is left
        out."""
        return forall(Offset, lambda i: implies(s.is_place(i), s.sink[i] == i))

    def is_place(s, i):
        return (0 < i) & (i <= s.copies)

    @promise(
        rule="618.P2",
        broken="the stored source offset of {p} is not where its committed output ends, and no marker on its "
        "way will put it there",
    )
    def resumes_where_it_ended(s):
        """The stored source offset is the end of the committed output, or a marker is on its way that will make it
        so."""
        return forall(Partition, lambda p: (s.source.stored[p] == s.source.done[p]) | s.done_is_coming(p))

    def done_is_coming(s, p):
        """Return whether the marker for the offset of the committed output's end is on its way."""
        offset = s.source.pending[p]
        return (0 < offset) & (offset == s.source.done[p]) & s.is_committing(s.source.sender[p])

    @service(rule="txn.P10", broken="the record at {i}, which a task has committed, never gets into the committed sink")
    def comes_to_the_sink(s, i: Offset):
        """Every record that a task has committed is in the committed sink eventually."""
        return leads_to((0 < i) & (i <= s.source.done[s.watched]), i <= s.copies)

    @witness(of="each_once")
    def written_by_two(s):
        """A record that an instance wrote is in the sink, and another instance, which fenced that one, goes on."""
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
        """The group reads records of a transaction whose source offset has no marker yet."""
        return exists(Partition, lambda p: s.source.stored[p] < s.source.end[p])

    @witness(of="comes_to_the_sink")
    def committed_and_not_given(s):
        """A task has committed a record that no reader can read yet."""
        return s.source.end[s.watched] < s.source.done[s.watched]

    @witness(of="resumes_where_it_ended")
    def zombie_writes(s):
        """A fenced instance has, or had, records in the log that no commit will make visible."""
        return exists(
            Instance, Partition,
            lambda k, p: s.polls(k) & s.txn.fenced[k] & s.source.resumed[k, p]
            & (s.source.base[k, p] < s.source.next[k, p]),
        )  # fmt: skip


class EndToEndProperties(Promises, of=EndToEnd):
    """The promises of the whole follow from the interfaces of its parts and these lemmas."""

    connect: Part[AdmissionProperties]
    txn: Part[ProducersProperties]
    ids: Part[HandedProperties]
    group: Part[DeliveredProperties]

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def source_does_as_delivered(s, p: Partition):
        """The output that readers of a source partition's log rely on, and the offset that its next task finds, refine
        the interface of committed output."""
        return {
            "end": s.source.done[p],
            "resume": when(s.done_is_coming(p), s.source.done[p], s.source.stored[p]),
            "amiss": s.source.amiss[p],
        }

    # The instances that may commit: Connect and transactions

    @lemma
    def opened_in_its_name(s):
        """An instance that has opened its producer did so with the transactional id of its task."""
        return forall(
            Instance,
            lambda k: implies(s.connect.opened[k], s.txn.known[k] & (s.txn.name[k] == s.connect.task[k])),
        )  # fmt: skip

    @lemma
    def not_fenced_in_either(s):
        """An instance that is not fenced in transactions is not fenced in Connect; in transactions it may be fenced
        earlier."""
        return forall(Instance, lambda k: implies(s.connect.opened[k] & ~s.txn.fenced[k], s.connect.live[k]))

    @lemma
    def commits_while_running(s):
        """An instance polls while its commit is on its way or not yet complete, and its offsets were sent before."""
        return forall(
            Instance,
            lambda k: implies(s.asked[k] | s.is_committing(k), s.polls(k))
            & implies(s.asked[k] & ~s.txn.fenced[k], s.txn.is_current(k) & s.txn.has_offsets[k]),
        )  # fmt: skip

    def may_commit(s, k):
        return s.polls(k) & ~s.txn.fenced[k]

    @lemma
    def one_reader(s):
        """At most one instance that may commit reads a source partition."""
        return forall(
            Instance, Instance, Partition,
            lambda j, k, p: implies(s.may_commit(j) & s.may_commit(k) & s.reads(j, p) & s.reads(k, p), j == k),
        )  # fmt: skip

    @lemma
    def planned_for_one(s):
        """A set of task configurations assigns a source partition to one task at most."""
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
        """The producer id of every known transactional id was handed out."""
        return forall(Task, lambda i: implies(s.known[i], s.ids.given[s.id[i]]))

    @lemma
    def ids_are_their_own(s):
        """No two transactional ids have the same producer id."""
        return forall(Task, Task, lambda i, j: implies(s.known[i] & s.known[j] & (s.id[i] == s.id[j]), i == j))

    @lemma
    def under_its_own_id(s):
        """A producer writes under the producer id of its transactional id."""
        return forall(
            Instance,
            lambda k: implies(s.txn.known[k], s.known[s.txn.name[k]] & (s.source.under[k] == s.id[s.txn.name[k]])),
        )

    # The records in the logs

    @lemma
    def written_in_transactions(s):
        """The undecided records of an instance are in its transaction, after the offset where the transaction
        begins."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(s.source.wrote[k, p], s.txn.has[k, p])
            & implies(s.source.resumed[k, p], s.source.base[k, p] <= s.source.next[k, p])
            & implies(s.source.wrote[k, p], s.source.base[k, p] < s.source.next[k, p]),
        )  # fmt: skip

    @lemma
    def wrote_what_it_reads(s):
        """The records in the transaction of an instance are of source partitions from which it resumed."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(s.connect.opened[k] & s.source.wrote[k, p], s.source.resumed[k, p]),
        )  # fmt: skip

    @lemma
    def pending_in_a_transaction(s):
        """A pending source offset is in the transaction of the instance that sent it."""
        return forall(Partition, lambda p: implies(0 < s.source.pending[p], s.txn.has_offsets[s.source.sender[p]]))

    @lemma
    def pending_of_its_own(s):
        """An instance whose source offset is pending, and whose producer is open, resumed from that source
        partition."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                (0 < s.source.pending[p]) & (s.source.sender[p] == k) & s.connect.opened[k], s.source.resumed[k, p]
            ),
        )  # fmt: skip

    @lemma
    def pending_is_done(s):
        """A pending source offset whose transaction is committed is the end of the committed output."""
        return forall(
            Partition,
            lambda p: implies(
                0 < s.source.pending[p],
                (s.source.pending[p] == s.source.done[p]) | ~s.is_committing(s.source.sender[p]),
            ),
        )  # fmt: skip

    @lemma
    def offsets_of_the_records(s):
        """The pending offsets of an open transaction are those of the records in it."""
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
        """An instance that may commit, and has resumed, goes on where the committed output ends, and the records that
        it has committed are the last of that output."""
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
        """A reader can read all committed records except those whose marker is on the way."""
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
        """A reader of a log gets the records of the source in order, each once."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.source.end[p]), s.source.record[p, i] == i),
        )  # fmt: skip

    # The group

    @lemma
    def sink_in_step(s):
        """The sink ends where a member of the group would resume."""
        return s.copies == s.group.resume

    @lemma
    def copies_what_is_there(s):
        """The group has copied no more records than a reader can read."""
        return s.group.end <= s.source.end[s.watched]
