"""What leaves the network: what was lost, and requests that nobody speaks of any more.

The model's numbers of requests are few and used again; this is what frees them.
"""

from collections.abc import Sequence

from fencepost.properties.id_blocks.plug import Message

from ..results import Event, State
from .stepping import ANSWERED, REFUSED, SENT, Applied, Candidate, Stepper


class NetworkKeeper:
    """Keeps the candidates in step with what is in flight, which every driver knows."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper

    def lost(self, candidate: Candidate, message: Message, messages: Sequence[Message]) -> Applied:
        """The candidate after the loss of a message, unless another copy of it is still in flight."""
        number = self.stepper.numbers.get(message[3])
        if number is None or any(m[1] == message[1] and m[3] == message[3] for m in messages):
            return Applied(candidate, ())
        return self._lose(candidate, {number}, (SENT,) if message[1] == "request" else (ANSWERED, REFUSED))

    def put_aside(self, candidate: Candidate, messages: Sequence[Message]) -> Applied:
        """A controller is gone, and with it the requests that reached it and that it had not acted on."""
        flying = {m[3] for m in messages if m[1] == "request"}
        return self._lose(candidate, {n for number, n in self.stepper.numbers.items() if number not in flying}, (SENT,))

    def _lose(self, candidate: Candidate, requests: set[int], stages: Sequence[int]) -> Applied:
        state, actions = candidate.state, []
        for (slot,), stage in sorted(state["stage"].items() if "stage" in state else ()):
            if stage in stages and state["original"].get((slot,), 0) in requests:
                after = self.stepper.plain.step(state, Event("lose", {"r": slot}))
                assert after is not None
                state = after
                actions.append(self.stepper.plain.spec.actions["lose"])
        return Applied(candidate._replace(state=state), tuple(actions))

    def tidy(self, candidates: list[Candidate], messages: Sequence[Message]) -> tuple[list[Candidate], int]:
        """Forget requests of which nothing is in flight, or held by a controller, and that nobody waits for; how
        many they were."""
        flying = {m[3] for m in messages} | {n for n, count in self.stepper.held.items() if count > 0}
        forgotten = 0
        for number in [n for n in self.stepper.numbers if n not in flying]:
            request = self.stepper.numbers[number]
            candidates = [c._replace(state=self._forget(c.state, request)) for c in candidates]
            if not any((request,) in c.state["stage"] for c in candidates):
                del self.stepper.numbers[number]
                forgotten += 1
        return candidates, forgotten

    def _forget(self, state: State, request: int) -> State:
        copies = sorted(r for (r,) in state["stage"] if state["original"].get((r,), 0) == request and r != request)
        for slot in (*copies, request):
            event = Event("forget", {"r": slot})
            if self.stepper.plain.enabled(state, event):
                after = self.stepper.plain.step(state, event)
                assert after is not None
                state = after
        return state
