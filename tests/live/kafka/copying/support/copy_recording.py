"""A run of the copying application as a history: what its members wrote down, what an auditor reads of the output, and
the log of the group's offsets, recorded by the command that records any group's, and replayed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from copiers import Job
from copy_audit import Audit, Copy, Place, audit
from copy_settings import AT_SEND, CLASSIC, LEFT_OUT, Settings
from fencepost.proofs.recording import GroupHeader, Recorded, record_group, write_members
from fencepost.proofs.recording.group_fencing.member_events import KINDS
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, kafka_version

NOT_ALWAYS_SEEN = {"joined", "assigned", "revoked", "lost", "offset_fetched"}
"""Without a listener a member does not see what becomes of its partitions; some join in the background; and where a
consumer begins, it asks for the offset by itself."""
OBSERVABLE = tuple(kind for kind in KINDS if kind not in NOT_ALWAYS_SEEN)
CLOCK_ERROR_US = 0
"""All run on one machine, and look at one clock."""
DECIDED = {"nothing_twice", "nothing_skipped", "offsets_agree", "everything_copied", "one_producer_commits",
           "newest_owner_commits"}  # fmt: skip
RELAXED = (4, 3)
"""The release from which on a commit of an older member epoch may be taken (KIP-1251)."""


def mode_of(settings: Settings, release: str = "") -> str:
    """The variant that the brokers and these members are."""
    if settings.protocol == CLASSIC:
        return "group-id-only" if settings.metadata == LEFT_OUT else "shipped"
    major, minor = (int(number) for number in kafka_version(release).split(".")[:2])
    mode = "new-protocol-relaxed" if (major, minor) >= RELAXED else "new-protocol"
    return f"{mode}-metadata-at-send" if settings.metadata == AT_SEND else mode


def audit_and_replay(kafka: KafkaCluster, job: Job, folder: Path, release: str = "") -> tuple[Audit, ReplayReport]:
    """Of a job whose members have ended: what its output and offsets say by themselves, and what the history of the run
    says, held by the properties that hold simulated ones."""
    job.settle()
    read, offsets = job.read(), job.offsets()
    lines = [line for copier in job.copiers for line in copier.lines()]
    recorded = record_job(kafka, job, folder, lines, read, offsets, mode_of(job.copiers[0].settings, release))
    assert DECIDED <= set(recorded.decidable), recorded.undecidable
    return audit(job.inputs, [copy for _, copy in read], offsets), replay(folder / "out", cores=1)


def record_job(
    kafka: KafkaCluster, job: Job, folder: Path, lines: Sequence[Mapping[str, Any]],
    read: Sequence[tuple[Place, Copy]], offsets: Mapping[int, int], mode: str,
) -> Recorded:  # fmt: skip
    """Into `folder / "out"`; `lines` are the members', `read` and `offsets` what an auditor read."""
    now = time.time_ns() // 1000
    audited: list[Mapping[str, Any]] = []
    for (output, position), copy in read:
        place = {"output": output, "position": position, "partition": copy.partition, "offset": copy.offset}
        audited.append({"time_us": now, "kind": "output_read", **place})
    for partition, offset in sorted(offsets.items()):
        audited.append({"time_us": now, "kind": "audited", "partition": partition, "offset": offset})
    header = GroupHeader(
        group=job.name, mode=mode, quiet_end=True, observable=OBSERVABLE, clock_error_us=CLOCK_ERROR_US,
        inputs=tuple((job.source, partition, 0, end) for partition, end in sorted(job.inputs.items())),
        faults=_faults(lines),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_members(folder / "clients.jsonl", header, [*lines, *audited])
    return record_group(kafka.log_dirs, folder / "clients.jsonl", folder / "out", kafka_version=kafka_version())


def _faults(lines: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    kinds = [line["kind"] for line in lines]
    return {kind: kinds.count(kind) for kind in ("paused", "resumed") if kind in kinds}
