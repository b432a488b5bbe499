"""Which variants the reference implementation has, and how histories of each are simulated."""

REFERENCE = "fencepost.reference_impl.source_commits"

RIGHT = ("proposed", "proposed-exactly-once", "shipped-mended")
MISTAKES = frozenset({
    "shipped",
    "last-polled", "newest-acknowledged", "ahead-of-the-flush", "previous-snapshot", "first-of-several",
    "failure-not-acknowledged", "told-by-two-threads", "empty-means-all", "snapshot-only", "zombie",
})  # fmt: skip
"""Which are driven and simulated to see what they break; `shipped` is what Kafka does."""

CONFIG = {
    "events": 300, "partitions": 2, "records": 40, "outputs": 2, "batch": 3, "filtered": 5, "tolerance": "all",
    "quiet_end": True,
}  # fmt: skip
"""Of simulated histories: faults for so many events, and then all there is gets committed, if it can be."""
OVERLAPPING = {"linger": 0.3, "delay_us": 100_000, "stop": 0.2, "kill": 0.0, "timeout_us": 400_000}
"""Where the final commit is to come upon the committer: threads stand still often, and wait for long."""

PACE = {"told-by-two-threads": OVERLAPPING, "shipped": {**OVERLAPPING, "stop": 0.5}}

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (
        mode,
        f"{REFERENCE}.generator:simulate_with_stats",
        {"mode": mode, **CONFIG, **PACE.get(mode, {})},
    )
    for mode in DRIVEN
)
