"""A bench for the group's coordinator: requests of members, one by one, with their answers."""

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
    """A cluster none of whose instances does anything; a probe takes the answers to its own requests."""

    def __init__(self, **config: Any) -> None:
        self.system = reference({"members": 1, "initial_delay_ms": 0, **config})
        self.env = self.system.env
        self.answers: dict[int, Any] = {}
        self.env.network.nodes[PROBE] = self

    @property
    def coordinator(self) -> Any:
        """The group's coordinator."""
        return self.system.group_coordinator

    @property
    def group(self) -> Any:
        """The group."""
        return self.coordinator.group

    def arrive(self, message: Any) -> None:
        """An answer."""
        self.answers[message.body.number] = message.body.data

    def send(self, kind: str, data: Any, target: str = "") -> int:
        """A request that arrives; its number."""
        number = self.env.next_request()
        self.env.network.send(kind, PROBE, target or self.env.group_address, RequestBody(number, data))
        self.settle()
        return number

    def body(self, number: int, data: Any) -> RequestBody:
        """A request on the wire."""
        return RequestBody(number, data)

    def settle(self) -> None:
        """Everything in flight arrives."""
        self.system.settle(steps=False)

    def ask(self, kind: str, data: Any, target: str = "") -> Any:
        """A request that is answered at once."""
        return self.answers[self.send(kind, data, target)]

    # The classic protocol

    def join(self, member: int = -1, instance: int = -1) -> int:
        """JoinGroup; its number, since it may have to wait."""
        return self.send("join", JoinGroupRequest(member, instance))

    def first_join(self) -> tuple[int, int]:
        """A new member: the id it is given, and the number of its second request."""
        member = self.answers[self.join()].member
        return member, self.join(member)

    def sync(self, generation: int, member: int, assignments: Any = None, instance: int = -1) -> int:
        """SyncGroup; its number."""
        return self.send("sync", SyncGroupRequest(generation, member, instance, assignments or {}))

    def beat(self, generation: int, member: int, instance: int = -1) -> int:
        """Heartbeat; its error."""
        error: int = self.ask("heartbeat", HeartbeatRequest(generation, member, instance)).error_code
        return error

    def leave(self, member: int, instance: int = -1) -> int:
        """LeaveGroup; its error."""
        error: int = self.ask("leave", LeaveGroupRequest(member, instance)).error_code
        return error

    def alone(self, instance: int = -1) -> int:
        """A stable group of one; its member."""
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
        """ConsumerGroupHeartbeat."""
        return self.ask("group_heartbeat", GroupHeartbeatRequest(member, epoch, instance, owned))
