"""Which variants the reference implementation has, and how histories of each are simulated."""

REFERENCE = "fencepost.reference_impl.source_offsets"

FROM_THE_START = "shipped-own-topic-from-the-start"
RIGHT = ("text-merged-view", "migration-sentinel", "shipped", FROM_THE_START)
REFUTED = frozenset({"shipped-own-topic-later", "shipped-own-topic-taken"})
"""What ships and breaks promises, as it is driven and simulated to see."""
MISTAKES = REFUTED | {
    "migration-race", "stale-topic", "tombstone-primary-first", "late-copies", "copied", "up-to-the-last-stable",
    "separate-transactions", "falls-back-alone", "copies-when-committed-alone",
}  # fmt: skip
"""These too; and no release does so."""
NOW_AND_THEN = MISTAKES | {FROM_THE_START}
"""Those that `fencepost verify` drives and simulates on request."""

CONFIG = {"events": 400, "partitions": 3, "tasks": 3, "records": 12, "quiet_end": True}
"""Of simulated histories: faults for so many events, and then the source is read to its end, if it can be."""

WITH_TOMBSTONES = ("tombstone-primary-first", "late-copies")
SWITCHED_ON = (
    "copies-when-committed-alone", "shipped-own-topic-later", "shipped", "copied", "migration-race", "migration-sentinel",
)  # fmt: skip
"""Those that show in partitions that are begun anew, and with an offsets topic that the connector has only later, or
never."""

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (
        mode,
        f"{REFERENCE}.generator:simulate_with_stats",
        {"mode": mode, **CONFIG, "rounds": 1 + (mode in WITH_TOMBSTONES), "separate": mode not in SWITCHED_ON},
    )
    for mode in DRIVEN
)
