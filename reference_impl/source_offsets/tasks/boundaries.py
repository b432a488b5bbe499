"""Where the transactions of an exactly-once task end: `transaction.boundary` (TransactionBoundaryManager).

Asked after each batch that was sent or dropped, and at the task's orderly end.
"""

from fencepost.reference_impl.source_offsets.config import CONNECTOR, INTERVAL, Config

NONE, ABORT, COMMIT = -1, 0, 1


class Poll:
    """Every batch is a transaction."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.asked = NONE

    def begin(self, now_ms: int) -> None:
        """The task begins to poll."""

    def ask(self, outcome: int) -> None:
        """The connector has asked for this, or (-1) for nothing, with its batch."""
        self.asked = outcome

    def at_batch(self, now_ms: int) -> int:
        """What ends here: the transaction is committed (1), or aborted (0) and its offsets committed; -1: nothing."""
        return COMMIT

    def is_due(self, now_ms: int) -> bool:
        """Whether something would end now, though nothing was polled."""
        return False

    def at_end(self) -> int:
        """The same, as the task ends in order."""
        return COMMIT


class Interval(Poll):
    """A batch ends the transaction if the last one has ended so long ago, or, for the first, the task has begun."""

    last_ms = 0

    def begin(self, now_ms: int) -> None:
        self.last_ms = now_ms

    def is_due(self, now_ms: int) -> bool:
        return now_ms >= self.last_ms + self.config.interval_ms

    def at_batch(self, now_ms: int) -> int:
        if not self.is_due(now_ms):
            return NONE
        self.last_ms = now_ms
        return COMMIT


class Connector(Poll):
    """Only the connector ends a transaction, by its TransactionContext; what it has not asked to commit stays open, and
    is aborted when the task's successor opens its producer."""

    def at_batch(self, now_ms: int) -> int:
        asked, self.asked = self.asked, NONE
        return asked

    def at_end(self) -> int:
        return self.at_batch(0)


def boundary_of(config: Config) -> Poll:
    """That of the configuration."""
    return {INTERVAL: Interval, CONNECTOR: Connector}.get(config.boundary, Poll)(config)
