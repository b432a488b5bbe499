"""This module proves the promises of the whole where its parts are the cores themselves."""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.detailed import Detailed
from fencepost.model.end_to_end.over_core import CoreOfInstances, OverCore
from fencepost.model.group_fencing.core import Fate, Member, Partition
from fencepost.model.group_fencing.over_core import ProducerEpoch
from fencepost.model.language import (
    Part,
    Properties,
    each,
    exists,
    forall,
    implies,
    lemma,
    promise,
    receptive,
    refinement,
    step,
    when,
    witness,
)
from fencepost.model.task_counts.abstract.core import Instance, Stage
from fencepost.model.transactions.abstract.core import Fate as TxnFate
from fencepost.model.transactions.abstract.core import Outcome, Phase, Txn
from fencepost.properties.end_to_end.claims.abstract import EndToEndProperties, Promises
from fencepost.properties.transactions.claims.core_overlapping import FatedV2


class DetailedProperties(Promises, of=Detailed):
    """Each step of the detailed whole is a step of the abstract whole, and so the promises hold."""

    def is_coming(s):
        """Return whether the marker of a committed transaction of the group is on its way, with the offset where the
        output ends."""
        p = s.watched
        return exists(
            Member,
            lambda m: (s.group.fate[m] == Fate.COMMITTED) & (0 < s.group.pending[m, p])
            & (s.group.pending[m, p] == s.group.done[p]),
        )  # fmt: skip

    def where_it_goes_on(s):
        return when(s.is_coming(), s.group.done[s.watched], s.group.committed[s.watched])

    @promise(rule="447.P1", broken="the sink does not end where the group's committed offset is or will be")
    def sink_in_step(s):
        """The sink ends where the group's committed offset is, or where a marker that is on its way will put it."""
        return s.copies == s.where_it_goes_on()

    @witness(of="sink_in_step")
    def behind_the_source(s):
        """The sink has a record whose marker is on its way to the group's coordinator."""
        return (0 < s.copies) & s.is_coming()

    @refinement(
        of=EndToEnd,
        actions={
            "connect.check_after": ("connect.let_poll", "stop"), "connect.assign": ("connect.assign",),
            "commit_copies": ("copy",), "fence_late": ("fence",),
        },
    )  # fmt: skip
    def does_as_the_whole(s):
        """The cores, as parts of the detailed whole, refine their interfaces in the abstract whole."""
        return {
            "connect.opened": each(lambda k: s.is_starting(k) | s.polls(k)),
            "connect.polls": each(lambda k: s.connect.stage[k] == Stage.RUNNING),
            "ids.twice": s.ids.given_twice,
            "group.end": s.group.done[s.watched],
            "group.resume": s.where_it_goes_on(),
            "group.amiss": s.group.twice | s.group.skipped,
        }


# The promises are also asked of users of the whole that make a mistake.


# Where one task's transactions are the core of v2, the whole agrees with the core, and blocks no step that the core
# takes by itself.
#
# So each behaviour of the core, used as Connect's tasks use it, is one that the whole was proved for; `abstract` has
# the promises, which are inherited here.

STEPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("append", "append_late", "append_in_vain", "append_offsets", "append_offsets_late", "append_offsets_in_vain"),
        ("core.append",),
    ),
    **dict.fromkeys(("mark", "mark_offsets", "mark_again"), ("core.mark",)),
    **dict.fromkeys(("mark_late", "mark_offsets_late", "mark_in_vain"), ("core.mark_late",)),
    **dict.fromkeys(("end", "end_aborting"), ("core.end",)),
    **dict.fromkeys(("answer_again", "answer_anew"), ("core.answer_again",)),
    "take_over": ("core.take_over",), "complete": ("core.complete",), "fence": ("core.fence_producers",),
    **dict.fromkeys(("begin", "begin_in_vain"), ("core.begin",)),
    **dict.fromkeys(("open_producer", "open_producer_again"), ("core.initialize",)),
    **dict.fromkeys(("produce", "produce_offsets"), ("core.send",)),
    **dict.fromkeys(("ask_commit", "ask_commit_in_vain"), ("core.commit",)),
    "ask_abort": ("core.abort",), "initialize_again": ("core.initialize_again",),
}  # fmt: skip
"""Each joint action is mapped to the step of the core that it takes."""


class OverCoreProperties(Properties, of=OverCore):
    """The whole over the core of v2 has these lemmas, which relate the interface of the watched id to its coordinator
    and logs."""

    whole: Part[EndToEndProperties]
    core: Part[FatedV2]

    # The interface's state of the watched id is that of its coordinator and the logs

    @lemma
    def in_its_name(s):
        """Exactly the instances of the watched task have its transactional id, and its epochs and transactions are
        theirs."""
        return (
            forall(Instance, lambda k: s.mine[k] == (s.whole.txn.known[k] & (s.whole.txn.name[k] == s.watched)))
            & forall(Instance, ProducerEpoch, lambda k, e: implies(s.core.given[k, e], s.mine[k] & (0 < e)))
            & forall(Txn, lambda t: implies(s.core.begun[t], s.mine[s.core.owner[t]]))
        )

    @lemma
    def open_as_there(s):
        """A transaction of the watched id is open exactly if it has the newest epoch and is not decided."""
        return forall(
            Instance,
            lambda k: implies(
                s.mine[k],
                s.whole.txn.open[k] == exists(Txn, lambda t: s.is_present(t) & (s.core.owner[t] == k)),
            ),
        )  # fmt: skip

    @lemma
    def unfenced_as_there(s):
        """An instance is not fenced if it has the newest epoch, or if an answer to EndTxn that is on its way, or would
        be sent if it asked again, gives it that epoch."""
        return forall(Instance, lambda k: implies(s.core.given[k, s.core.epoch], ~s.whole.txn.fenced[k])) & forall(
            Txn,
            lambda t: implies(
                s.core.begun[t]
                & (
                    (s.core.success[t] & (s.core.follows[t] == s.core.epoch))
                    | ((s.core.number[t] == s.core.ended) & (s.core.outcome == Outcome.COMMIT))
                ),
                ~s.whole.txn.fenced[s.core.owner[t]],
            ),
        )

    @lemma
    def decided_as_there(s):
        """The outcome in the whole is that of the transaction that is prepared in the core."""
        return forall(
            Instance,
            lambda k: implies(
                s.mine[k],
                s.whole.txn.outcome[k] == when(s.has_prepared(k), s.core.outcome, Outcome.NONE),
            ),
        )  # fmt: skip

    def has_prepared(s, k):
        return exists(Txn, lambda t: s.is_prepared(t) & (s.core.owner[t] == k))

    @lemma
    def there_as_there(s):
        """A log has undecided records of an instance in the whole exactly if it has in the core."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                s.mine[k], s.whole.txn.has[k, p] == ((p != s.offsets) & s.is_in(k, p))
            ),
        ) & forall(
            Instance,
            lambda k: implies(s.mine[k], s.whole.txn.has_offsets[k] == s.is_in(k, s.offsets)),
        )  # fmt: skip

    def is_in(s, k, p):
        return exists(
            Txn, lambda t: s.core.begun[t] & (s.core.owner[t] == k) & (s.core.fate[t, p] == TxnFate.OPEN)
        )  # fmt: skip

    @lemma
    def awaited_as_there(s):
        """A marker is awaited in exactly the logs that do not know it."""
        return forall(
            Instance, Partition,
            lambda k, p: implies(
                s.mine[k] & (p != s.offsets),
                s.whole.txn.awaits[k, p] == (s.has_prepared(k) & (s.core.known[p] < s.core.marker_epoch)),
            ),
        ) & forall(
            Instance,
            lambda k: implies(
                s.mine[k],
                s.whole.txn.awaits_offsets[k]
                == (s.has_prepared(k) & (s.core.known[s.offsets] < s.core.marker_epoch)),
            ),
        )  # fmt: skip

    # Requests of instances

    @lemma
    def asked_as_there(s):
        """An instance with the newest transaction that has opened its producer polls, and its commit is requested while
        it counts as running, or its abort after it has ended."""
        return forall(
            Txn,
            lambda t: implies(
                s.is_newest(t),
                implies(s.whole.connect.opened[s.core.owner[t]], s.polls(t))
                & implies(s.is_present(t) & (s.core.choice[t] == Outcome.COMMIT), s.whole.asked[s.core.owner[t]])
                & implies(s.core.choice[t] == Outcome.ABORT, ~s.whole.connect.opened[s.core.owner[t]]),
            ),
        )  # fmt: skip

    @lemma
    def present_is_undecided(s):
        """The records of the present transaction are open in every log, and no transaction is prepared."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.is_present(t) & (s.core.fate[t, p] != TxnFate.ABSENT),
                (s.core.fate[t, p] == TxnFate.OPEN) & (s.core.phase == Phase.ONGOING),
            ),
        )  # fmt: skip

    @lemma
    def sent_when_resumed(s):
        """The records sent in the present transaction are of source partitions from which the instance resumed."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.is_present(t) & s.core.sent[t, p] & s.polls(t) & (p != s.offsets),
                s.whole.source.resumed[s.core.owner[t], p]
                & implies(s.core.fate[t, p] != TxnFate.ABSENT, s.whole.source.wrote[s.core.owner[t], p]),
            ),
        )  # fmt: skip

    @lemma
    def offsets_go_last(s):
        """Offsets are sent after records were sent and have arrived."""
        return forall(
            Txn,
            lambda t: implies(
                s.core.sent[t, s.offsets], exists(Partition, lambda p: (p != s.offsets) & s.core.sent[t, p])
            ),
        ) & forall(
            Txn, Partition,
            lambda t, p: implies(
                s.core.sent[t, s.offsets] & s.core.sent[t, p] & (p != s.offsets), s.core.fate[t, p] != TxnFate.ABSENT
            ),
        )  # fmt: skip

    @lemma
    def something_was_sent(s):
        """A client that asks for a commit has sent something."""
        return forall(
            Txn,
            lambda t: implies(s.core.choice[t] == Outcome.COMMIT, exists(Partition, lambda p: s.core.sent[t, p])),
        )  # fmt: skip

    @lemma
    def idle_is_settled(s):
        """Where InitProducerId of the watched id may be answered in the core, the whole allows it."""
        return implies(s.core.phase == Phase.IDLE, s.whole.txn.all_settled(s.watched)) & forall(
            Instance,
            lambda k: implies((s.core.phase == Phase.IDLE) & s.mine[k], s.whole.txn.is_settled(k)),
        )

    # Readers get what the core commits

    @step(rule="618.P2", broken="{p} decides {t} otherwise than its marker in the whole")
    def counts_as_there(old, new):
        """Where a log decides open records, the marker in the whole decides the same, commit or abort."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                old.core.fate[t, p] == TxnFate.OPEN,
                implies(new.core.fate[t, p] == TxnFate.COMMITTED, old.whole.is_committing(old.core.owner[t]))
                & implies(new.core.fate[t, p] == TxnFate.ABORTED, ~old.whole.is_committing(old.core.owner[t])),
            ),
        )  # fmt: skip

    @witness(of="counts_as_there")
    def committed_in_one_log(s):
        """The records of a transaction are committed already while its offsets await their marker."""
        return exists(
            Txn, Partition,
            lambda t, p: (s.core.fate[t, p] == TxnFate.COMMITTED) & (s.core.fate[t, s.offsets] == TxnFate.OPEN),
        )  # fmt: skip

    @refinement(of=CoreOfInstances, actions=STEPS)
    def does_as_v2(s):
        """The core's part of each step of the whole is a step of the core."""
        return {}

    @receptive(does_as_v2, "core.append")
    def records_come(s):
        """The whole lets a leader append every record that the core lets it append."""

    @receptive(does_as_v2, "core.end", "core.answer_again")
    def ends_are_taken(s):
        """The whole lets the coordinator accept EndTxn whenever the core lets it."""

    @receptive(does_as_v2, "core.take_over", "core.fence_producers")
    def time_is_up(s):
        """A transaction may time out at any time, and an administrator may fence the id at any time."""

    @receptive(does_as_v2, "core.complete", "core.mark", "core.mark_late")
    def markers_come(s):
        """The whole lets every marker arrive that may arrive in the core."""
