"""What a search finds, as it can be compared with what another one does."""

from fencepost.proofs.engines.explore import Exploration


def outcome(found: Exploration) -> tuple[object, ...]:
    return (
        found.levels, found.generated, found.verdicts, found.traces, found.taken, found.cut, found.deadlocks,
        [tuple(c.tolist() for c in level) for level in found.states],
    )  # fmt: skip
