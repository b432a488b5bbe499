"""This module lets ``fencepost record`` record a consumer group, from what its members saw and from the log of its
offsets."""

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording.command import Report, Request
from fencepost.proofs.recording.group_fencing.recorder import record_group


def record(request: Request) -> Report:
    """Record a group from its members' events, which name the group, and from the brokers' logs, if given, to decide
    more. Raise `InputError` for topics, because the members' file names those of the input."""
    if request.topics:
        raise InputError("--topic: the input's partitions stand in the header of --clients; leave the option out")
    if request.clients is None:
        raise InputError("--clients FILE is needed: what members saw, under a header that names the group and input")
    recorded = record_group(
        request.log_dirs, request.clients, request.out, quiet_end=request.quiet_end,
        kafka_version=request.kafka_version, progress=request.progress,
    )  # fmt: skip
    report = {
        "events": recorded.counts,
        "decidable": recorded.decidable,
        "undecidable": recorded.undecidable,
        "not_promised": recorded.not_promised,
        "notes": recorded.notes,
    }
    return Report(str(recorded), report, recorded.decidable, recorded.undecidable, recorded.not_promised)
