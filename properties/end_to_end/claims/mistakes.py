"""The promises, asked of users of the whole that get something wrong."""

from fencepost.model.end_to_end.mistakes import ReadsUncommitted, WithoutOffsets
from fencepost.properties.end_to_end.claims.abstract import Promises


class ReadsUncommittedPromises(Promises, of=ReadsUncommitted):
    """Where the group is given what is not committed."""


class WithoutOffsetsPromises(Promises, of=WithoutOffsets):
    """Where a task's offsets are not in its transactions."""
