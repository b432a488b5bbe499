"""This module lets ``fencepost record`` record Connect's exactly-once source connectors, from brokers' logs, and from
what was seen of calls and answers and workers' logs, if given."""

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording.command import Report, Request
from fencepost.proofs.recording.task_counts.recorder import record_task_counts


def record(request: Request) -> Report:
    """Record from brokers' logs; `topics` is the config topic, where several Connect clusters use these brokers. Raise
    `InputError` without log directories."""
    if request.clients is not None:
        raise InputError("--clients: what clients of Connect see is given with --seen; leave the option out")
    if not request.log_dirs:
        raise InputError("name the brokers' log directories: sets, counts and fences stand nowhere else")
    recorded = record_task_counts(
        request.log_dirs, request.out, seen=request.seen, worker_logs=request.worker_logs, topics=request.topics,
        quiet_end=request.quiet_end, kafka_version=request.kafka_version, progress=request.progress,
    )  # fmt: skip
    report = {
        "events": recorded.counts,
        "decidable": recorded.decidable,
        "undecidable": recorded.undecidable,
        "not_promised": recorded.not_promised,
        "notes": recorded.notes,
    }
    return Report(str(recorded), report, recorded.decidable, recorded.undecidable, recorded.not_promised)
