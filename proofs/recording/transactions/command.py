"""This module lets ``fencepost record`` record transactions from the brokers' logs, and from what their clients saw."""

from fencepost.proofs.recording.command import Report, Request
from fencepost.proofs.recording.transactions.recorder import record_transactions


def record(request: Request) -> Report:
    """Record transactions, and report what can be decided, since logs contain no order across nodes."""
    recorded = record_transactions(
        request.log_dirs, request.clients, request.out, topics=request.topics, quiet_end=request.quiet_end,
        kafka_version=request.kafka_version, incomplete=request.incomplete,
        progress=request.progress,
    )  # fmt: skip
    report = {
        "events": recorded.counts,
        "bytes": recorded.bytes_read,
        "seconds": recorded.seconds,
        "committed": recorded.committed,
        "decidable": recorded.decidable,
        "undecidable": recorded.undecidable,
        "not_promised": recorded.not_promised,
        "notes": recorded.notes,
    }
    return Report(str(recorded), report, recorded.decidable, recorded.undecidable, recorded.not_promised)
