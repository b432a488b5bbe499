"""What goes wrong with task counts where a rule is broken or the guarantee ends, in the implementation: with the
mistake a property of histories fails, and mended none does.  In the model: tests/proofs/test_bugs_in_models.py."""

from fencepost.properties.catalogue import protocols

ENTRIES = [
    protocols()[name]
    for name in ("task-count-deletion", "task-count-connectors", "exactly-once-upgrade", "config-topic")
]
SCENARIOS = {known.name: (entry, known) for entry in ENTRIES for known in entry.scenarios}
PLAYED = {"B34", "618.33", "618.34", "618.49", "follower-writes-a-set", "compaction-order"}
"""Those that the implementation has as well: known bugs, and what goes beyond in test_task_counts_beyond.py."""


def test_the_known_ones() -> None:
    """Each is in the implementation as well where it says so."""
    assert {name for name, (_, known) in SCENARIOS.items() if known.played} == PLAYED
