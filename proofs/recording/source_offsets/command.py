"""This module lets ``fencepost record`` record the records and source offsets of a live source connector of Connect."""

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording.command import Report, Request
from fencepost.proofs.recording.source_offsets.recorder import record_source_offsets


def record(request: Request) -> Report:
    """Record from brokers' logs and the connector's own reports; `topics` are those of its records. Raise `InputError`
    without either."""
    if request.seen is None or not request.log_dirs or request.clients is not None or request.worker_logs:
        raise InputError("name the brokers' log directories and --seen FILE, and neither --clients nor --worker-logs")
    recorded = record_source_offsets(
        request.log_dirs, request.seen, request.out, topics=request.topics, quiet_end=request.quiet_end,
        kafka_version=request.kafka_version, progress=request.progress,
    )  # fmt: skip
    report = {"events": recorded.counts, "decidable": recorded.decidable, "undecidable": recorded.undecidable}
    report |= {"not_promised": recorded.not_promised, "notes": recorded.notes}
    return Report(str(recorded), report, recorded.decidable, recorded.undecidable, recorded.not_promised)
