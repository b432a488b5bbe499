"""This bench sends requests of members to the group's coordinator one by one, and collects the answers."""

from typing import Any

from fencepost.reference_impl.kafka.messages import (
    GroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    RequestBody,
    SyncGroupRequest,
)
from fencepost.reference_impl.systems.group_fencing import reference

PROBE = "probe"


class Bench:
    """A `Bench` is a cluster whose instances do nothing, with a probe that takes the answers to its own requests."""

    def __init__(self, **config: Any) -> None:
        self.system = reference({"members": 1, "initial_delay_ms": 0, **config})
        self.env = self.system.env
        self.answers: dict[int, Any] = {}
        self.env.network.nodes[PROBE] = self

    @property
    def coordinator(self) -> Any:
        return self.system.group_coordinator

    @property
    def group(self) -> Any:
        return self.coordinator.group

    def arrive(self, message: Any) -> None:
        self.answers[message.body.number] = message.body.data

    def send(self, kind: str, data: Any, target: str = "") -> int:
        """Send a request, let it arrive, and return its number."""
        number = self.env.next_request()
        self.env.network.send(kind, PROBE, target or self.env.group_address, RequestBody(number, data))
        self.settle()
        return number

    def body(self, number: int, data: Any) -> RequestBody:
        return RequestBody(number, data)

    def settle(self) -> None:
        self.system.settle(steps=False)

    def ask(self, kind: str, data: Any, target: str = "") -> Any:
        """Return the answer to a request that is answered at once."""
        return self.answers[self.send(kind, data, target)]

    # The classic protocol

    def join(self, member: int = -1, instance: int = -1) -> int:
        """Send JoinGroup and return its number, since the answer may have to wait."""
        return self.send("join", JoinGroupRequest(member, instance))

    def first_join(self) -> tuple[int, int]:
        """Return the id that a new member gets, and the number of its second request."""
        member = self.answers[self.join()].member
        return member, self.join(member)

    def sync(self, generation: int, member: int, assignments: Any = None, instance: int = -1) -> int:
        return self.send("sync", SyncGroupRequest(generation, member, instance, assignments or {}))

    def beat(self, generation: int, member: int, instance: int = -1) -> int:
        error: int = self.ask("heartbeat", HeartbeatRequest(generation, member, instance)).error_code
        return error

    def leave(self, member: int, instance: int = -1) -> int:
        error: int = self.ask("leave", LeaveGroupRequest(member, instance)).error_code
        return error

    def alone(self, instance: int = -1) -> int:
        """Make a stable group of one member, and return its id."""
        if instance == -1:
            member, number = self.first_join()
        else:
            number = self.join(-1, instance)
            member = self.answers[number].member
        generation = self.answers[number].generation
        self.sync(generation, member, {member: (0,)}, instance)
        return member

    # The new protocol

    def group_beat(self, member: int, epoch: int, owned: Any = None, instance: int = -1) -> Any:
        return self.ask("group_heartbeat", GroupHeartbeatRequest(member, epoch, instance, owned))
