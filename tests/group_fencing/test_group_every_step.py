"""Which steps of the models with member epochs are driven: each scenario leads to those that no other comes to, and is
followed to its end."""

from typing import Any

import pytest
from fencepost.proofs.testing.search import Search
from fencepost.properties.conformance_spec import driven
from fencepost.properties.group_fencing.variants import NEW
from fencepost.reference_impl.systems.group_fencing import reference

SIZE = {
    "members": 2, "inputs": 1, "outputs": 1, "records": 20, "static": False, "stable_ids": True, "metadata_at": "poll",
    "session_timeout_ms": 300, "heartbeat_ms": 60, "max_poll_ms": 1_000, "initial_delay_ms": 30,
    "transaction_timeout_ms": 400, "request_timeout_ms": 100, "timeout_check_ms": 50, "seed": 0,
}  # fmt: skip


@pytest.mark.parametrize("variant", NEW)
@pytest.mark.parametrize(
    ("scenario", "arguments", "config", "steps"),
    [
        ("deaf", dict(slot=0, other=1, lines=2, asleep=False, long=False, last=False), {}, {"be_fenced"}),
        (
            "replaced",
            dict(slot=0, lines=2, other=1, killed=False, moved=False),
            {"static": True},
            {"leave", "replace", "crash"},
        ),
        ("replaced", dict(slot=0, lines=2, other=1, killed=True, moved=False), {}, {"crash", "fence"}),
        ("slow", dict(slot=0, lines=4, aborts=True), {}, {"initialise"}),
        ("stale", dict(slot=0, lines=2), {"static": True}, {"leave", "come_back"}),
        ("stale", dict(slot=0, lines=2), {"transaction_timeout_ms": 2_000}, {"refuse", "expel"}),
    ],
)
def test_a_scenario_leads_to_steps_of_its_own(
    variant: str, scenario: str, arguments: dict[str, Any], config: dict[str, Any], steps: set[str]
) -> None:
    """And the model follows it."""
    agreeing = driven("group-fencing")
    search = Search(agreeing, reference, variant, {}, frozenset(), None, ())
    machine = type("One", (agreeing.machines[variant],), {"session": search})()
    machine.begin({**SIZE, **config, "mode": variant})
    getattr(machine, scenario)(**arguments)
    machine.teardown()
    search.account()
    assert search.failures == []
    assert steps <= {name for name, taken in search.coverage.actions.items() if taken}
