"""Which variants the reference implementation has, and how histories of each are simulated."""

REFERENCE = "fencepost.reference_impl.group_fencing"

RIGHT = (
    "shipped", "new-protocol", "new-protocol-relaxed", "draft-repaired-by-generation", "draft-repaired-by-assignment",
)  # fmt: skip
MISTAKES = frozenset({
    "draft", "draft-static-members", "group-id-only", "new-protocol-metadata-at-send",
    "new-protocol-relaxed-metadata-at-send",
})  # fmt: skip
"""Which are driven and simulated to see what they break."""

CONFIG = {"events": 400, "records": 8, "transaction_timeout_ms": 400, "quiet_end": True}
"""Of simulated histories: faults for so many events, and then all there is gets copied, if it can be."""

UNDECIDED = {
    f"group-fencing-kafka-{protocol}": frozenset(
        {
            "conformance",
            "fetches_are_stable",
            "held_while_pending",
            "last_written_counts",
            "no_other_error_ends_it",
        }
    )
    for protocol in ("classic", "consumer")
}
"""Of recordings: neither clients nor logs show what the coordinator answers to a member that fetches an offset, and in
these no error ends an instance."""

AT_POLL = {"metadata_at": "poll"}
NEW = ("new-protocol", "new-protocol-relaxed")
FOLLOWED = dict.fromkeys(NEW, 0.85)
"""Where a late heartbeat frees a partition that its member has by now, the rest is not followed.  Of 600 histories
98 % are followed to their end, 97 % with KIP-1251; of 30, as few as are simulated at times, it may be less."""

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (mode, f"{REFERENCE}.generator:simulate_with_stats", {"mode": mode, **CONFIG, **(AT_POLL if mode in NEW else {})})
    for mode in DRIVEN
)
