"""This module says of each finding about a system (`fencepost findings`) whether the doctor can name it from logs.

`NAMED` has the findings with their trace in logs: by finding the kinds of `checks.KINDS`, or verdicts on open
transactions, each with the minor release to which that trace is limited, or an empty string. An open transaction that
hangs is named besides by the model that reaches it, if the finding lists that variant. `SILENT` has those that leave
nothing of their own in logs, with the reason, and `UNDECIDED` those whose trace is not looked for, with where it is.
Together they have every finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fencepost.proofs.scope.findings import FINDINGS

HANGING, TORN = "hanging", "torn"
OFFSETS_HANG = "transactional-offsets/offsets-marker-dropped"
"""On a partition of group offsets, a dropped marker is a finding of this variant."""
LATE_RECORD = "transactions/v1-hanging"
"""A record is let in after the end of its transaction: its leader does not ask, or is misinformed."""
LOST, ABORTED = "acknowledged commit lost", "aborted record committed"
LATE_MARKER, OLD_RULE = (
    "late marker decides the next transaction", "a marker without its transaction version is judged by the old rule",
)  # fmt: skip
HALF, VOUCHES = "half a transaction committed", "a deposed coordinator vouches for what was aborted"

NAMED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        LOST: {HANGING: "", "joined": "", "unmarked": ""},
        ABORTED: {HANGING: "", "joined": "", "unmarked": ""},
        "acknowledged offset lost": {HANGING: "", "unmarked": ""},
        "aborted offset committed": {HANGING: "", "unmarked": ""},
        VOUCHES: {HANGING: ""},
        HALF: {"both_outcomes": "", "marker_without": "4.0"},  # 4.0.0 aborts under the epoch after the marker's
        LATE_MARKER: {"late_marker": ""},
        OLD_RULE: {"late_marker": "", "marker_without": ""},
        "rotation lost over a fail-over": {"last_epoch": ""},
        "a fence takes two epochs": {"skipped": ""},
        "a transactional id answers 51 for ever": {"overdue": ""},
    }
)
_REFUSED = "what is refused is not written, and the log is that of a producer that stops"
_FENCE = "the log has an abort under the next epoch, as any new instance of the id, or an abort of its own, leaves it"
_AS_ASKED = "the log has a decision, and not who asked for it: it is a transaction as any other"
_NO_DEFECT = "a false alarm: there is no defect to name"
_HERDER = "it happens among Connect's workers, which write nothing of it"
_TWICE = (
    "transactions that an application may make: one that seeks back commits a lower offset, and writes records twice "
    "(`--same-key` has those); the record of an offset names no member, generation or epoch of the group"
)
_FENCES = "each fence is printed, and one instance that fails and is started again and again leaves the same log"
SILENT: Mapping[str, str] = MappingProxyType({
    "a deposed coordinator refuses the next epoch": _REFUSED,
    "a deleted offset takes the pending one with it": _NO_DEFECT,
    "a retry over a fail-over is fenced": _REFUSED,
    "a lone producer is told an internal error": "it is an answer alone",
    "a refused question stops its producer": _REFUSED,
    "who was timed out is given its successor's pair": _NO_DEFECT,
    "a late EndTxn decides the next transaction": _AS_ASKED,
    "a late copy stops the next transaction": _REFUSED,
    "a client fences itself": _FENCE,
    "a client that asks for two phases gets one":
        "the log has an abort by time-out, and not what the client was configured for",
    "a fenced producer ends its successor's transaction": _FENCE,
    "a partition that its member never hears of": "nothing is written, and the group's offset stands, as of a slow one",
    "an aborted offset is committed by the next transaction":
        "a client that has aborted may rightly commit the same offset with its next transaction",
    "an answer of an earlier generation is taken for the newest":
        "an owner may rightly go back, as it does where a user resets the group's offset",
    "enabled workers do not catch up with a preparing leader": _HERDER,
    "a fencing round that is over still answers": _HERDER,
    "a flush of source offsets waits without an end": "offsets are written later, as with a longer flush interval",
    "one thread forwards everything to the leader": _HERDER,
    "a start that wakes up late shuts out a healthy task": _FENCE,
    "a fence of a deposed leader shuts out a healthy task": _FENCE,
    "a failed task is reported as running": _FENCE,
    "who waits for a paused leader fails": _HERDER,
    "an open transaction holds up every start": _NO_DEFECT,
    "a start that does not end holds up every worker": _NO_DEFECT,
    "a round fails over an open transaction": _HERDER,
    "an abort without records is left for the next batch": _HERDER,
    "duplicates older than the last batch are refused after a restart":
        "what is refused is not written, and the second copy has an epoch of its own, from sequence number 0, as a "
        "record that an application sends twice after its producer had to begin anew",
    "the newest epoch commits for others": _TWICE,
    "an epoch outlives what was subscribed to": _TWICE,
    "a removed member has its epoch again": _TWICE,
    "a consumer joins again behind its application": _TWICE,
    "a rebalance behind the application": _TWICE,
    "who was removed passes for a client without a group": _TWICE,
    "metadata read after the poll are not those of the poll": _TWICE,
    "who names no member is not fenced": _TWICE,
    "connectors with equal ids fence one another": _FENCES,
    "a task fences the leader of another cluster": _FENCES,
})  # fmt: skip
_CONFIG = "it can be seen in the records of Connect's config topic, which the doctor does not read"
_SOURCES = "it can be seen in the records of Connect's offsets topics, which the doctor does not read"
UNDECIDED: Mapping[str, str] = MappingProxyType({
    "the second batch is taken first":
        "an epoch begins with another sequence number than 0, as where its first records have been deleted",
    "a preparing leader reads uncommitted": f"{_CONFIG}: tasks start on a count that was aborted",
    "an own offsets topic hides the worker's offsets": f"{_SOURCES}: a source begins anew in another topic",
    "the worker's copy comes before the commit": f"{_SOURCES}: the worker's has an offset of what was aborted",
    "a removed task is started again":
        f"{_CONFIG}: a task commits that no count covers; `record --protocol task-counts` and `replay` find it in a "
        "live run (task-counts-connect-removed-task)",
    "a task of a deleted connector runs on": f"{_CONFIG}: a task commits whose connector was deleted before",
})  # fmt: skip


def known_here(kind: str, release: str, variants: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the findings, with their status, that leave a trace of this kind and were seen on a minor release such as
    4.0, or on any if that is empty; of one that hangs or is torn those of the `variants` that reach it."""
    ways, found = set(variants), []
    for each in FINDINGS:
        limits = NAMED.get(each.name, {})
        if not limits or kind not in (*limits, TORN) or (release and limits.get(kind, "") not in ("", release)):
            continue
        if kind in (HANGING, TORN) and not ways & {*each.variants, *([LATE_RECORD] if each.name == VOUCHES else [])}:
            continue
        if not release or any(exact.startswith(f"{release}.") for exact in each.seen):
            found.append(f"{each.name} ({each.status})")
    return tuple(found)
