"""What is judged: nothing but simulated histories."""

from fencepost.properties.entries import ProtocolEntry

ENTRIES = (
    ProtocolEntry(
        "audited",
        "A store behind a lock, as an auditor sees it.",
        (),
        {},
        simulators=(("fenced", "tests.audited.simulator:simulate", {"clients": 3, "events": 60}),),
    ),
)
