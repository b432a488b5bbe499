"""Trying again, in real time, until a deadline: how long a broker is busy cannot be decided here.

for _ in Patience(5.0):          # at least once, and again until five seconds are over
    if ready():
        break
"""

import time
from collections.abc import Iterator

SHORTEST_S, LONGEST_S = 0.001, 0.05


class Patience:
    """Tries, with pauses that grow from a millisecond to fifty, for `seconds`; without a pause before the first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __iter__(self) -> Iterator[int]:
        deadline = time.monotonic() + self._seconds
        pause, tries = SHORTEST_S, 0
        while True:
            yield tries
            tries += 1
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_S)
