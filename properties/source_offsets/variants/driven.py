"""Which variants the reference implementation has, and how histories of each are simulated."""

REFERENCE = "fencepost.reference_impl.source_offsets"

RIGHT = ("text-merged-view", "migration-sentinel")
MISTAKES = frozenset({
    "migration-race", "stale-topic", "tombstone-primary-first", "late-copies", "copied", "up-to-the-last-stable",
    "separate-transactions", "nulls-override", "written-before-commit",
})  # fmt: skip
"""Which are driven and simulated to see what they break."""

CONFIG = {"events": 400, "partitions": 3, "tasks": 3, "records": 12, "quiet_end": True}
"""Of simulated histories: faults for so many events, and then the source is read to its end, if it can be."""

WITH_TOMBSTONES = ("tombstone-primary-first", "late-copies")
SWITCHED_ON = ("nulls-override", "copied", "migration-race", "migration-sentinel")
"""Those that show in partitions that are begun anew, and with an offsets topic that the connector has only later."""

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
