"""Which variants the reference implementation has: those it is driven in, and how histories of each are simulated."""

REFERENCE = "fencepost.reference_impl.group_fencing"
MODES = ("shipped", "draft")
CONFIG = {"events": 400, "records": 8, "transaction_timeout_ms": 400, "quiet_end": True}
"""Of simulated histories: faults for so many events, and then all there is gets copied, if it can be."""

IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in MODES)
SIMULATORS = tuple((mode, f"{REFERENCE}.generator:simulate_with_stats", {"mode": mode, **CONFIG}) for mode in MODES)
