"""A node has a name, receives messages, and can crash, restart, pause and resume.

What a crash does to the node's memory is up to the protocol (`Node.forget`). This module implements what it does to
time: a crash silently cancels every timer of that incarnation, and a pause holds back messages and timers until the
node resumes.
"""

from typing import Any

from fencepost.reference_impl.simulation.kernel import Handler, Kernel
from fencepost.reference_impl.simulation.network import Message


class Node:
    """A `Node` is a process under simulation; ``incarnation`` counts its restarts."""

    __slots__ = ("_held", "incarnation", "kernel", "name", "paused", "running")

    def __init__(self, name: str, kernel: Kernel) -> None:
        self.name = name
        self.kernel = kernel
        self.incarnation = 0
        self.running = True
        self.paused = False
        self._held: list[tuple[Handler, Any]] = []

    def receive(self, message: Message) -> None:
        """Handle one message; a protocol's nodes override this method."""
        raise NotImplementedError(f"{type(self).__name__} {self.name} got {message}: override receive()")

    def forget(self) -> None:
        """Lose what is in memory; this is called once per crash, before the node is down."""

    def arrive(self, message: Message) -> None:
        """Receive a message now, hold it if the node is paused, or lose it if the node is down."""
        if self.paused:
            self._held.append((self.receive, message))
        elif self.running:
            self.receive(message)

    def after(self, delay_us: int, handler: Handler, argument: Any = None) -> None:
        """Set a timer of this incarnation: call `handler(argument)` in `delay_us` us unless it crashes before."""
        self.kernel.after(delay_us, self._fire, (self.incarnation, handler, argument))

    def crash(self) -> None:
        """Stop at once, and lose memory, timers and held messages. A second crash has no further effect."""
        if self.running:
            self.forget()
            self.running = self.paused = False
            self._held.clear()

    def restart(self) -> None:
        """Come back as the next incarnation, after a crash if the node is still running."""
        self.crash()
        self.incarnation += 1
        self.running = True

    def pause(self) -> bool:
        """Pause the node, as a long garbage collection does; return False if it is paused already or down."""
        stands, self.paused = self.paused, self.running
        return self.running and not stands

    def resume(self) -> None:
        """Resume the node: what was held back happens now, in order of arrival."""
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
