"""Which offsets a task finds in Kafka as it is released (3.3 and later), and what would mend that.

`ConnectorOffsetBackingStore.get` lays what the connector's own topic has over what the worker's has, and
`KafkaOffsetBackingStore.get` has an entry for each source partition that is asked for, null where there is none: so the
own topic's nulls hide the worker's offsets, and nothing is fallen back on.  `ConnectorOffsetBackingStore.set` copies an
offset to the worker's topic as soon as the broker has acknowledged it in the own one (`setPrimaryThenSecondary`), when
the transaction is not committed yet, and may be aborted.

So all is well as long as one topic is in use (`WorkersTopic`, which is the default, and `OwnTopicFromTheStart`), and
neither a topic that is given later nor one that is taken away is (`OwnTopicGiven`, `OwnTopicTaken`).  One mend alone is
not enough (`CopiesWhenSent`, `NullsHide`); both are, as `Mended` says.
"""

from fencepost.model.language import danger, exists, fault, require
from fencepost.model.source_offsets.core import Instance, MergedView, Partition, Stage
from fencepost.model.source_offsets.outside import OF_ONE_TOPIC, OF_THE_MENDED


class WorkersTopic(MergedView):
    """A connector without an offsets topic of its own: its offsets are in the worker's topic, and no store has another
    beside it (`ConnectorOffsetBackingStore.withOnlyWorkerStore`)."""

    give_own_topic = None
    copy = None
    copy_in_vain = None

    outside = OF_ONE_TOPIC


class CopiesWhenSent(MergedView):
    """A copy is on its way to the worker's topic once the offset is sent, and again no more when it is committed."""

    def copied_when_sent(s, n, p):
        return s.to_copy(n, p)

    def copied_when_committed(s, n, p):
        return s.copying[n, p]


class NullsHide(MergedView):
    """Where a source partition has no offset in the connector's own topic, that is all that is found."""

    def finds(s, n, p):
        return s.in_its_topic(p, s.apart[n])

    def found(s, p):
        """What a restart of the connector finds, as it is configured now."""
        return s.in_its_topic(p, s.separate)


class OwnTopicGiven(NullsHide, CopiesWhenSent):
    """A connector is given an offsets topic of its own when it has offsets in the worker's topic."""


class OwnTopicFromTheStart(OwnTopicGiven):
    """A connector has had its own offsets topic from when it was created, and keeps it.  Copies may come as late as
    they like, and a null offset before any other one, since nothing is read of the worker's topic."""

    give_own_topic = None

    outside = OF_ONE_TOPIC

    def init(s):
        s.separate = True

    def copies_no_more(s, m, n, p):
        """None is waited for."""
        return (m == n) & (m != n)

    def may_erase(s, n, p):
        """Nothing is looked at."""
        return n == n  # noqa: PLR0124


class OwnTopicTaken(OwnTopicGiven):
    """A connector is configured without its own topic again, and what is in the worker's topic counts."""

    @fault(budget="topics")
    def take_own_topic(s):
        """The connector's offsets are in the worker's topic from now on."""
        require(s.separate)
        s.separate = False


class Mended(MergedView):
    """Both mends, of a source that has no null offsets, and then without a condition: what an instance copies may come
    as late as it likes."""

    submit_the_last = None

    outside = OF_THE_MENDED

    copies_no_more = OwnTopicFromTheStart.copies_no_more

    @danger("late-copy")
    def copies_late(s):
        """A copy of an instance that is fenced is on its way, and another one works on its source partition."""
        return exists(
            Instance, Instance, Partition,
            lambda n, m, p: (0 < s.copying[n, p]) & s.fenced[n] & (m != n) & s.reads[m, p]
            & (s.stage[m] == Stage.WORKING),
        )  # fmt: skip
