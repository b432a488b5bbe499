"""A node: something with a name that receives messages, and can crash, restart, pause and resume.

What a crash does to the node's memory is the protocol's business (`Node.forget`); here is what it does to time: a
crash silently cancels every timer of that life, and a pause holds back messages and timers until the node resumes.
"""

from typing import Any

from fencepost.reference_impl.simulation.kernel import Handler, Kernel
from fencepost.reference_impl.simulation.network import Message


class Node:
    """A process under simulation. `incarnation` counts its lives: 0, and one more at every restart."""

    __slots__ = ("_held", "incarnation", "kernel", "name", "paused", "running")

    def __init__(self, name: str, kernel: Kernel) -> None:
        self.name = name
        self.kernel = kernel
        self.incarnation = 0
        self.running = True
        self.paused = False
        self._held: list[tuple[Handler, Any]] = []

    def receive(self, message: Message) -> None:
        """Handle one message; a protocol's nodes override this."""
        raise NotImplementedError(f"{type(self).__name__} {self.name} got {message}: override receive()")

    def forget(self) -> None:
        """Lose what is in memory: called once per crash, before the node is down."""

    def arrive(self, message: Message) -> None:
        """A message reaches the node: lost if it is down, held if it is paused."""
        if self.paused:
            self._held.append((self.receive, message))
        elif self.running:
            self.receive(message)

    def after(self, delay_us: int, handler: Handler, argument: Any = None) -> None:
        """A timer of this life of the node: `handler(argument)` in `delay_us`, unless it crashes before."""
        self.kernel.after(delay_us, self._fire, (self.incarnation, handler, argument))

    def crash(self) -> None:
        """Stop at once: memory, timers and held messages are gone. Crashing twice is crashing once."""
        if self.running:
            self.forget()
            self.running = self.paused = False
            self._held.clear()

    def restart(self) -> None:
        """Come back as the next incarnation, crashing first if need be."""
        self.crash()
        self.incarnation += 1
        self.running = True

    def pause(self) -> bool:
        """Stand still (a long garbage collection): nothing is lost, nothing happens. False if it does, or is down."""
        stands, self.paused = self.paused, self.running
        return self.running and not stands

    def resume(self) -> None:
        """Go on: what was held back happens now, in order of arrival."""
        self.paused = False
        held, self._held = self._held, []
        for handler, argument in held:
            self._fire((self.incarnation, handler, argument))

    def _fire(self, timer: tuple[int, Handler, Any]) -> None:
        incarnation, handler, argument = timer
        if incarnation != self.incarnation:
            return
        if self.paused:
            self._held.append((handler, argument))
        elif self.running:
            handler(argument)
