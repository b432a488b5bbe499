"""The monitor of KIP-618's promises: what it takes for granted, and what it reads from the configuration."""

from types import SimpleNamespace
from typing import Any

import pytest
from fencepost.properties.task_counts.monitoring.monitor import Monitor
from fencepost.reference_impl.task_counts.scenarios import scenario

EVENTS = scenario("618.40-shipped", True)


def found(**config: Any) -> str | None:
    """The rule that the monitor finds broken where a task's second check is left out."""
    watching = Monitor({"workers": 3, "connectors": 1, **config})
    for event in EVENTS:
        watching.watch(SimpleNamespace(events=(event,), result=None))
    return watching.found and watching.found.rule


@pytest.mark.parametrize("support", ["enabled", ["enabled"] * 3, ("enabled",) * 3])
def test_support_of_all_workers_is_one_value_or_one_of_each(support: Any) -> None:
    """One word for all of them is not a list of its letters: the monitor judges as it does without the key."""
    assert found() == "618.19"
    assert found(support=support) == "618.19"


@pytest.mark.parametrize("support", ["disabled", ["enabled", "disabled", "enabled"], ("enabled", "enabled", "none")])
def test_a_worker_without_support_ends_what_is_promised(support: Any) -> None:
    """618.33: where some worker is configured without support, nothing is promised about who may run."""
    assert found(support=support) is None
