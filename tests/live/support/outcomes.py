"""What a test that is a program of a finding, or a corner, says of Kafka by how it ends."""

from __future__ import annotations

from fencepost.proofs.scope.reproduced import Outcome

LONGEST = 200
"""Characters that are written down of an answer."""


def outcome_of(when: str, error: BaseException | None) -> tuple[Outcome, str]:
    """What a phase of a program says: that it passed; what was answered instead; or why it could not be run."""
    if error is None:
        return "seen", ""
    answered = when == "call" and isinstance(error, AssertionError | TimeoutError)
    return "not seen" if answered else "not run", " ".join(str(error).split())[:LONGEST]
