"""Broken implementations of task counts are declared in full; `test_agreement_task_counts` finds what they break, and
`test_task_counts_history_replay` that harmless ones break nothing."""

import pytest
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.task_counts.defects import broken
from fencepost.reference_impl.task_counts.defects.broken import REGISTRY, find


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_entry_is_complete(name):
    """Reachable as `broken:<name>`, documented, with its rule, and a reason where the verdict may surprise."""
    entry = getattr(broken, name)
    assert entry is REGISTRY[name] is find(name)
    assert entry.rule.startswith("618.")
    assert entry.breaks is Breaks.PROMISE or entry.why
    changed = [
        part for part in map(entry.parts.__getattribute__, entry.parts.__slots__) if ".defects." in part.__module__
    ]
    assert changed
    assert all(part.__doc__ for part in changed)


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="no_fencing"):
        find("no_fence")
    with pytest.raises(AttributeError, match="no_fencing"):
        _ = broken.no_fence
