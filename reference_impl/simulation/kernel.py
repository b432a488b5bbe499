"""The kernel is a virtual clock in microseconds, a queue of future calls, and one seeded random generator.

The kernel knows no protocol. `at` and `after` queue a call. Time passes only in `advance` (a driver's clock step),
`wait` and `run` (free-running), and jumps from one queued entry to the next.
"""

from collections.abc import Callable, Sized
from heapq import heappop, heappush
from random import Random
from typing import Any

Handler = Callable[[Any], object]


class Kernel:
    """A `Kernel` has the virtual time and a queue; entries due at the same time run in the order of queueing."""

    __slots__ = ("_draw", "_queue", "_queued", "now", "random")

    def __init__(self, seed: int) -> None:
        self.now = 0
        self.random = Random(seed)
        self._draw = self.random.random
        self._queue: list[tuple[int, int, Handler, Any]] = []
        self._queued = 0

    def at(self, time_us: int, handler: Handler, argument: Any = None) -> None:
        """Call `handler(argument)` at the virtual time `time_us`; a time that has passed means now."""
        self._queued += 1
        heappush(self._queue, (time_us, self._queued, handler, argument))

    def after(self, delay_us: int, handler: Handler, argument: Any = None) -> None:
        """Call `handler(argument)` when `delay_us` microseconds have passed."""
        self._queued += 1
        heappush(self._queue, (self.now + delay_us, self._queued, handler, argument))

    def spread(self, mean_us: int) -> int:
        """Return a random duration around `mean_us`: uniform between 0 and twice the mean, in whole microseconds."""
        return int(self._draw() * (2 * mean_us + 1))

    def advance(self, duration_us: int) -> None:
        """Let `duration_us` pass; each queued entry that falls due runs at its own time."""
        if duration_us < 0:
            raise ValueError(f"cannot advance the clock by {duration_us} us: time only moves forward; pass 0 or more")
        until = self.now + duration_us
        queue = self._queue
        while queue and queue[0][0] <= until:
            time_us, _, handler, argument = heappop(queue)
            self.now = max(self.now, time_us)
            handler(argument)
        self.now = until

    def wait(self, done: Callable[[], bool], latest_us: int) -> bool:
        """Run queued entries until `done()`; return False if it is not true by `latest_us`."""
        queue = self._queue
        while not done():
            if not queue or queue[0][0] > latest_us:
                return False
            time_us, _, handler, argument = heappop(queue)
            self.now = max(self.now, time_us)
            handler(argument)
        return True

    def run(self, rows: Sized, enough: int) -> None:
        """Run queued entries until `rows` has `enough` entries, or the queue is empty."""
        queue, pop = self._queue, heappop  # the innermost loop of every generated history
        while queue and len(rows) < enough:
            time_us, _, handler, argument = pop(queue)
            if time_us > self.now:  # noqa: PLR1730 (a call to max() costs a twentieth of the whole event)
                self.now = time_us
            handler(argument)
