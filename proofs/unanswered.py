"""What a connection to brokers leaves behind, for those who may not have imported what speaks to brokers: errors, and
topics."""

import sys


def wire_errors() -> tuple[type[Exception], ...]:
    """The error that no answer was had from a broker; none if what speaks to brokers, which is slow to import, was
    never imported: then it was not raised."""
    connection = sys.modules.get("fencepost.reference_impl.live.tcp.connection")
    return () if connection is None else (connection.WireError,)


def remove_topics(patience_s: float = 30.0) -> list[str]:
    """Has the topics deleted that this process has made on brokers; those that could not be, in words."""
    pool = sys.modules.get("fencepost.reference_impl.live.transactions.pool")
    return [] if pool is None else list(pool.remove_all(patience_s))
