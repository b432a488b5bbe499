"""An unclean election loses records, and markers behind records that stay (KAFKA-20716): what that breaks, in how many
steps, and what an operator who aborts what hangs can mend.

The steps are those of shortest runs; a changed number is a changed model, and has to be argued for.
"""

from collections.abc import Mapping

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.proofs.engines.explore import explore
from fencepost.properties.catalogue import find
from fencepost.properties.entries import bounds_of

HANGS, UNASKED, LOST, OTHERWISE = "nothing_hangs", "nothing_committed_unasked", "nothing_lost", "as_told"

BROKEN = [
    ("transaction-partitions/unclean-v2", {HANGS: 10, LOST: 11, OTHERWISE: 19, UNASKED: 21}),
    ("transaction-partitions/unclean-v2-fenced", {"nothing_open_after_a_fence": 12}),
    ("transaction-partitions/unclean-v1", {HANGS: 11, LOST: 12, OTHERWISE: 19, UNASKED: 19}),
    ("read-committed/read-committed-unclean",
     {"never_back": 3, "only_what_was_committed": 5, "given_is_not_aborted": 8}),
]  # fmt: skip


def broken_in(name: str, without: tuple[str, str] | None = None, *asked: str) -> Mapping[str, int]:
    """The promises that are asked of a variant and broken there, with the steps; ``without``: with a rule got wrong."""
    of = find(name)[1]
    assert of is not None
    spec = mutation(of.properties.protocol.spec, *without).apply() if without else of.spec
    promises = {n: p for n, p in of.properties.properties.items() if n in (asked or of.asked) and p.role != "progress"}
    found = explore(spec, promises, bounds_of(of, "smoke"))
    return {n: found.traces.steps(n) for n in found.violated}


@pytest.mark.parametrize(("name", "steps"), BROKEN)
def test_what_an_unclean_election_breaks(name: str, steps: Mapping[str, int]) -> None:
    """A transaction hangs first; the next one of its id decides it, whatever its owner was told."""
    assert broken_in(name) == steps


def test_an_operator_who_aborts_makes_nothing_visible() -> None:
    """txn.P3 holds where what hangs is aborted, and fails where it is committed; both can be other than what the owner
    was told (txn.P5)."""
    name = "transaction-partitions/unclean-v2-aborted"
    aborted, committed = broken_in(name), broken_in(name, ("txn.26", "commits"))
    assert aborted == {HANGS: 10, LOST: 11, OTHERWISE: 14}
    assert committed == {HANGS: 10, LOST: 11, OTHERWISE: 13, UNASKED: 11}


def test_an_operator_who_is_late_mends_nothing() -> None:
    """Where the owners are not kept away, the marker of the next transaction comes first."""
    name = "transaction-partitions/unclean-v2-aborted"
    assert broken_in(name, ("txn.26", "verify: guard 1 dropped"), UNASKED) == {UNASKED: 21}


def test_either_end_may_tear_a_transaction() -> None:
    """txn.P2: what hangs in one partition has its end in another one already, and the operator can't see which."""
    name = "transaction-partitions/unclean-v2-aborted-torn"
    assert broken_in(name) == {"one_fate": 19}
    assert "one_fate" in broken_in(name, ("txn.26", "commits"))
