"""This module lets ``fencepost record`` record producer id blocks from the controllers' logs, or from clients' ids
alone."""

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording.command import Report, Request
from fencepost.proofs.recording.id_blocks.clients import read_observations
from fencepost.proofs.recording.id_blocks.recorder import record as record_logs
from fencepost.proofs.recording.id_blocks.recorder import record_observations


def record(request: Request) -> Report:
    """Record producer ids. Without logs, the clients' ids decide uniqueness, but nothing about blocks. Raise
    `InputError` for topics, which producer id blocks do not have."""
    if request.topics:
        raise InputError("--topic: a recording of producer id blocks has no topics; leave the option out")
    if not request.log_dirs:
        assert request.clients is not None, "one of the two is given"
        counts = record_observations(read_observations(request.clients), request.out)
        says = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing"
        return Report(says, {"events": counts})
    summary = record_logs(
        list(request.log_dirs), request.clients, request.out,
        block_size=request.block_size, kafka_version=request.kafka_version,
    )  # fmt: skip
    report = {"events": summary.counts, "unanswered": summary.unanswered, "notes": summary.notes}
    return Report(str(summary), report)
