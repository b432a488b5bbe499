"""How a violated id block property is told: one line that names the events concerned and the steps they stand at."""

from fencepost.properties.id_blocks.history.events import Kind
from fencepost.properties.id_blocks.history.view import IdBlockView


def again(view: IdBlockView, at: int, other: int) -> str:
    """An id handed out twice."""
    return f"{_handed_out(view, at)}; broker {_at(view, 'broker', other)} did so at step {_at(view, 'step', other)}"


def overlap(view: IdBlockView, at: int, other: int) -> str:
    """Two blocks that share ids."""
    return f"{_block(view, at)} overlaps {_block(view, other)}"


def uncommitted_answer(view: IdBlockView, at: int, other: int) -> str:
    """An answer sent before its record was committed, or though it never was."""
    when = "is never committed" if other < 0 else f"is committed only at step {_at(view, 'step', other)}"
    return f"{_block(view, at)}, but its record {_at(view, 'grant', at)} {when}"


def too_early(view: IdBlockView, at: int, other: int) -> str:
    """An id handed out before the first block that holds it was granted."""
    return f"{_handed_out(view, at)}, before {_block(view, other)}"


def outside(view: IdBlockView, at: int, _: int) -> str:
    """An id of no block."""
    return f"{_handed_out(view, at)}, which no block of this history holds"


def back(view: IdBlockView, at: int, other: int) -> str:
    """A broker whose ids do not increase."""
    return f"{_handed_out(view, at)}, after {_handed_out(view, other)} in the same lifetime"


def apart(view: IdBlockView, at: int, other: int) -> str:
    """A block that does not start where the one before it ends."""
    if view.columns["kind"][other] == Kind.migrated:
        due = f"KRaft took over at step {_at(view, 'step', other)} with next free id {_at(view, 'first', other)}"
    else:
        due = f"after {_block(view, other)}"
    return f"{_block(view, at)}, {due}"


def malformed(view: IdBlockView, at: int, _: int) -> str:
    """A block that cannot be."""
    return f"{_block(view, at)}: not a range of ids between 0 and 2^63 - 2"


def _at(view: IdBlockView, column: str, row: int) -> int:
    return int(view.columns[column][row])


def _handed_out(view: IdBlockView, row: int) -> str:
    broker, producer_id, step = (_at(view, name, row) for name in ("broker", "producer_id", "step"))
    return f"broker {broker} hands out id {producer_id} at step {step}"


def _block(view: IdBlockView, row: int) -> str:
    """`broker 1's block 1000..1999 (block_committed at step 7)`; with a broken length, its first id and length."""
    broker, first, length = (_at(view, name, row) for name in ("broker", "first", "length"))
    owner = "the controller's" if broker < 0 else f"broker {broker}'s"
    ids = f"{first}..{first + length - 1}" if length > 0 else f"from {first} of length {length}"
    return f"{owner} block {ids} ({Kind(_at(view, 'kind', row)).name} at step {_at(view, 'step', row)})"
