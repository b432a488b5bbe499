"""How often Python looks for garbage in cycles while histories are simulated: seldom, and not in what was there before.

A history is a web of objects that point at each other, so the collector is needed; but at its usual pace it goes over
the same living objects again and again, every module that was imported among them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000
"""So many objects more than were let go, before the collector looks at the new ones: some dozen histories."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Within: the collector waits for more objects, and leaves alone what there is at the beginning.  As before
    afterwards."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
