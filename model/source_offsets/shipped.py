"""This module has the offsets that a task finds in Kafka as it is released (3.3 and later), and possible fixes.

`ConnectorOffsetBackingStore.get` overlays the worker's offsets with those of the connector's own topic, and
`KafkaOffsetBackingStore.get` has an entry for each source partition that is asked for, null where there is none. So the
own topic's nulls hide the worker's offsets, and there is no fallback. `ConnectorOffsetBackingStore.set` copies an
offset to the worker's topic as soon as the broker has acknowledged it in the own one (`setPrimaryThenSecondary`), when
the transaction is not committed yet and may be aborted.

So the releases are right as long as one topic is in use (`WorkersTopic`, which is the default, and
`OwnTopicFromTheStart`), and wrong for a topic that is given later or taken away (`OwnTopicGiven`, `OwnTopicTaken`). One
fix alone is not enough (`CopiesWhenSent`, `NullsHide`), and both are (`Mended`).
"""

from fencepost.model.language import danger, exists, fault, require
from fencepost.model.source_offsets.core import Instance, MergedView, Partition, Stage
from fencepost.model.source_offsets.outside import OF_ONE_TOPIC, OF_THE_MENDED


class WorkersTopic(MergedView):
    """A connector without an offsets topic of its own has its offsets in the worker's topic only
    (`ConnectorOffsetBackingStore.withOnlyWorkerStore`)."""

    give_own_topic = None
    copy = None
    copy_in_vain = None

    outside = OF_ONE_TOPIC


class CopiesWhenSent(MergedView):
    """A copy is on its way to the worker's topic once the offset is sent, and not again when it is committed."""

    def copied_when_sent(s, n, p):
        return s.to_copy(n, p)

    def copied_when_committed(s, n, p):
        return s.copying[n, p]


class NullsHide(MergedView):
    """Where a source partition has no offset in the connector's own topic, the task finds none."""

    def finds(s, n, p):
        return s.in_its_topic(p, s.apart[n])

    def found(s, p):
        """Return the offset that a restart of the connector finds, as it is configured now."""
        return s.in_its_topic(p, s.separate)


class OwnTopicGiven(NullsHide, CopiesWhenSent):
    """A connector is given an offsets topic of its own when it has offsets in the worker's topic."""


class OwnTopicFromTheStart(OwnTopicGiven):
    """A connector has its own offsets topic from its creation, and never loses it. Copies may arrive at any time, and a
    null offset before any other one, since nothing is read of the worker's topic."""

    give_own_topic = None

    outside = OF_ONE_TOPIC

    def init(s):
        s.separate = True

    def copies_no_more(s, m, n, p):
        """Return False, because copies may arrive after the next instance has begun."""
        return (m == n) & (m != n)

    def may_erase(s, n, p):
        """Return True, because the worker's topic does not matter."""
        return n == n  # noqa: PLR0124


class OwnTopicTaken(OwnTopicGiven):
    """A connector is configured without its own topic again, and reads the worker's topic."""

    @fault(budget="topics", by="operator")
    def take_own_topic(s):
        """The connector's offsets are in the worker's topic from now on."""
        require(s.separate)
        s.separate = False


class Mended(MergedView):
    """Both fixes together are right without a condition for a source that has no null offsets: an instance's copies may
    arrive at any time."""

    submit_the_last = None

    outside = OF_THE_MENDED

    copies_no_more = OwnTopicFromTheStart.copies_no_more

    @danger("late-copy")
    def copies_late(s):
        """A copy of a fenced instance is on its way while another instance works on its source partition."""
        return exists(
            Instance, Instance, Partition,
            lambda n, m, p: (0 < s.copying[n, p]) & s.fenced[n] & (m != n) & s.reads[m, p]
            & (s.stage[m] == Stage.WORKING),
        )  # fmt: skip
