"""This module has the interface of source offsets: the committed output of a source partition as its readers see it,
and as a restart of its task does.

The interface has no tasks, instances, transactions, offsets topics or copies. `properties.source_offsets.claims.core`
proves that the core does nothing else, for each source partition, with tasks that fail, are left behind and are fenced,
and transactions whose end is not answered.

The records of a source partition are numbered from 1. One transaction brings all records from the one behind `end` to
`upto`, each of them once and in order. Records that a transformation drops or the connector has had aborted are in no
output.
"""

from fencepost.model.language import Bool, Nat, Protocol, action, require


class Offset(Nat, upto="records"):
    """An `Offset` is the number of a record of its source partition, and the offset that covers it and all records
    before it; 0 is none."""


class Delivered(Protocol):
    """The committed output of one source partition grows by whole transactions, and a restart resumes behind its
    end."""

    actors = ("task",)

    end: Offset  # the committed output has the records up to this one
    resume: Offset  # a restart of the task goes on behind this one
    amiss: Bool  # a record is in the committed output twice, or one was passed over

    @action
    def commit(s, upto: Offset):
        """A transaction of the partition's task is committed, with records and source offset."""
        require(s.end < upto)
        s.end = upto
        s.resume = upto
