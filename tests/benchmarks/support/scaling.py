"""Work that costs nothing, for measuring what handing out work costs.  Workers import it."""

from collections.abc import Callable
from functools import partial

from fencepost.proofs.scale.replay import Checked


def results_of(checked: Checked) -> Callable[[int], Checked]:
    """A unit's work that is done already."""
    return partial(_given, checked)


def _given(checked: Checked, _: int) -> Checked:
    return checked
