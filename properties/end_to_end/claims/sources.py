"""The part of the whole for source offsets is refined by the model of source offsets as they ship, where it has one
topic."""

from fencepost.model.end_to_end.one_topic import OneRunEach
from fencepost.model.end_to_end.sources import Sources
from fencepost.model.language import each, exists, forall, implies, lemma, refinement, when, with_parameters, witness
from fencepost.model.source_offsets.core import Instance, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Offset
from fencepost.properties.source_offsets.claims.core import WorkersTopicLemmas


class ResumedByTheWorkersTopic(WorkersTopicLemmas, of=OneRunEach):
    """One offsets topic as it ships refines `Sources` for each source partition."""

    def wrote(s, n, p):
        """Return whether records of the instance's transaction are in the log without a marker. A marker arrives when
        the commit is known to the instance, or when its producer is fenced after the commit."""
        return s.works(n) & (s.began[n, p] < s.polled[n, p]) & ~s.is_settled(n)

    def is_settled(s, n):
        return (s.stage[n] == Stage.COMMITTED) & s.fenced[n]

    def is_coming(s, n, p):
        """Return whether the instance's transaction is committed and the marker has not arrived at its records."""
        return (s.stage[n] == Stage.COMMITTED) & s.wrote(n, p)

    def has_sent(s, n, p):
        return (s.stage[n] == Stage.ASKED) & ~s.fenced[n] & (0 < s.data[n, p])

    @lemma
    def one_run(s):
        """Before its producer is open an instance is not over, and before it works it has polled nothing."""
        return forall(
            Instance, Partition,
            lambda n, p: implies(s.stage[n] == Stage.NEW, ~s.over[n])
            & implies(~s.works(n), (s.polled[n, p] == 0) & (s.began[n, p] == 0)),
        )  # fmt: skip

    @lemma
    def none_without_an_offset(s):
        """No record is dropped, and none is discarded upstream whose offset is not stored."""
        return forall(
            Partition, lambda p: (s.begins[p] == 0) & (s.released[p] <= s.told[p]) & (s.told[p] <= s.worker[p])
        ) & forall(Instance, Partition, Offset, lambda n, p, i: s.place[n, p, i] != Place.LEFT_OUT)

    @lemma
    def offsets_say_what_is_out(s):
        """The committed output is exactly the records that the stored offsets cover, so that `does_as_sources` may use
        the offsets."""
        return forall(Partition, Offset, lambda p, i: s.out[p, i] == ((0 < i) & (i <= s.worker[p])))

    def erases_with_an_offset(s, n, p):
        return ~s.erases[n, p]

    @lemma
    def transaction_is_what_follows(s):
        """A transaction has the records polled since it began, and the offset of the last of them."""
        return forall(
            Instance, Partition, Offset,
            lambda n, p, i: (s.began[n, p] <= s.polled[n, p])
            & (s.began[n, p] <= s.worker[p])
            & when(
                s.stage[n] == Stage.COMMITTED,
                (s.polled[n, p] <= s.worker[p]) & (s.data[n, p] == 0),
                (s.data[n, p] == when(s.began[n, p] < s.polled[n, p], s.polled[n, p], 0))
                & (s.is_inside(n, p, i) == ((s.began[n, p] < i) & (i <= s.polled[n, p]))),
            ),
        )  # fmt: skip

    @lemma
    def begins_where_the_last_ended(s):
        """The transaction of an instance that may commit begins where the stored offsets end, or is the last that they
        cover."""
        return forall(
            Instance, Partition,
            lambda n, p: implies(
                s.may_commit(n, p) & s.works(n),
                when(s.is_coming(n, p), s.polled[n, p], s.began[n, p]) == s.worker[p],
            ),
        )  # fmt: skip

    @lemma
    def sent_by_who_may_commit(s):
        """An instance whose offset is in the log, or was committed with records that have no marker yet, was the last
        to send one."""
        return forall(Instance, Partition, lambda n, p: implies(s.has_sent(n, p) | s.is_coming(n, p), s.sender[p] == n))

    @refinement(
        of=Sources,
        leaves_out=("done", "amiss", "committer", "coming"),
        actions={
            "resume": with_parameters("resume", lambda s, n, p: dict(k=n, p=p)),
            "submit": with_parameters("send", lambda s, n, p, i: dict(k=n, p=p, i=i)),
            "flush": with_parameters("send_offsets", lambda s, n: dict(k=n)),
            "commit": with_parameters("mark_offsets", lambda s: dict(i=0, commit=True)),
            "call_commit": with_parameters("mark", lambda s, n, p: dict(k=n, p=p, commit=True)),
            **dict.fromkeys(("open", "fence"), (
                with_parameters("mark", lambda s, p: dict(k=s.sender[p], p=p)),
                with_parameters("mark_offsets", lambda s: dict(i=0)),
            )),
            **dict.fromkeys(("assign", "check", "abandon", "fail", "crash", "find_out", "discard"), ()),
        },
    )  # fmt: skip
    def does_as_sources(s, p: Partition):
        """The model of source offsets refines the whole's `Sources` for one source partition. The model commits records
        and offsets in one step; here the marker arrives at the offsets in that step, and at the records in a later one.
        The model has no producer ids, and so all instances get the same one."""
        last = s.sender[p]
        end = when(s.is_coming(last, p), s.began[last, p], s.worker[p])
        return {
            "under": each(lambda n: 0),
            "resumed": each(lambda n, q: (q == p) & s.works(n) & s.reads[n, p]),
            "base": each(
                lambda n, q: when(q == p, when(s.is_settled(n), s.polled[n, p], s.began[n, p]), 0)
            ),
            "next": each(lambda n, q: when(q == p, s.polled[n, p], 0)),
            "wrote": each(lambda n, q: (q == p) & s.wrote(n, p)),
            "pending": each(lambda q: when((q == p) & s.has_sent(last, p), s.data[last, p], 0)),
            "sender": each(lambda q: when(q == p, last, s.first)),
            "stored": each(lambda q: when(q == p, s.worker[p], 0)),
            "end": each(lambda q: when(q == p, end, 0)),
            "record": each(lambda q, i: when((q == p) & (0 < i) & (i <= end), i, 0)),
        }  # fmt: skip

    @witness(of="does_as_sources")
    def committed_unheard(s):
        """A transaction is committed whose instance has failed, while its records have no marker and the next instance
        has not begun."""
        return exists(Instance, Partition, lambda n, p: s.over[n] & s.is_coming(n, p))
