"""This module is a consumer group over TCP: the reference implementation's application, consumers and producers, and
real brokers.

    system = over_tcp({"seed": 1, "mode": "shipped", "members": 2, "bootstrap": "127.0.0.1:9092"})

The driver decides when each request and each answer arrives, how often, or whether at all; groups, assignments,
transactions and offsets are the brokers'. What the brokers do by themselves is not observed: events are only what the
application does, the answers it gets, and what an auditor reads. Virtual time passes with real time, `pace` times as
slowly, so that sessions and transactions time out at the brokers as they do in the clients.

Input records need not exist: the reference's consumers know how many there are, and fetch only offsets.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.kafka.environment import DrivenPace
from fencepost.reference_impl.kafka.errors import RETRIABLE
from fencepost.reference_impl.kafka.group_environment import Config, Environment
from fencepost.reference_impl.kafka.messages import GroupMetadata, OffsetFetchRequest, RequestBody
from fencepost.reference_impl.live.group_fencing.asking import GroupLine, GroupRemote, Outstanding
from fencepost.reference_impl.live.group_fencing.requests import GroupCodec, GroupNames
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.transactions.config import Names, WireConfig
from fencepost.reference_impl.live.transactions.over_tcp import APPEND_MS, SETTLED_S, UNSETTLED, Control, WireSystem
from fencepost.reference_impl.live.transactions.pool import Pool
from fencepost.reference_impl.live.transactions.remote import Line, Remote, answered
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.simulation.config import Positive, split
from fencepost.reference_impl.systems.group_fencing import Parts, System

MODES = ("shipped", "new-protocol", "new-protocol-relaxed")
SLICE_MS = 20
AUDIT_S = 10.0


@dataclass(frozen=True, slots=True)
class GroupWireConfig(WireConfig):
    """``pace`` is the number of real milliseconds for each virtual one. A broker accepts no session timeout below its
    group.min.session.timeout.ms."""

    pace: Positive = 1


class GroupBrokers(WireSystem):
    """`GroupBrokers` are the real brokers as a system. The only producers are those of the application."""

    env: Environment
    wire: GroupWireConfig
    line: GroupLine
    names: GroupNames

    def _new_producers(self) -> None:
        self.producers = []

    def new_names(self, pool: Pool) -> Names:
        topic, topic_id = pool.whole_topic(self.env.options.inputs)
        return GroupNames(pool.fresh_name(), pool.take(self.env.config.partitions), topic, topic_id)

    def new_line(self, versions: Mapping[str, int]) -> Line:
        options, pace = self.env.options, self.wire.pace
        codec = GroupCodec(
            versions, self.names, self.env.contents, lambda ms: pace * ms, APPEND_MS,
            options.session_timeout_ms, options.max_poll_ms,
        )  # fmt: skip
        line = GroupLine(self.brokers, codec, self.wire.collapse)
        longest_s = pace * options.max_poll_ms / 1000 + self.wire.answer_timeout_ms / 1000
        self.outstanding = Outstanding(line, longest_s, partial(answered, self.env.network))
        return line

    def new_remote(self, name: str) -> Remote:
        return GroupRemote(name, self.env.network, self.line.carry, self.outstanding)

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        self.outstanding.collect()
        return super().messages()

    def settle(self) -> None:
        for transactional_id in self.line.asked:
            for _ in Patience(SETTLED_S):
                if self.transaction_state(transactional_id) not in UNSETTLED:
                    break

    def committed_offsets(self) -> list[int]:
        """Return the group's offsets as an administrator sees them. Raise WireError if they cannot be had."""
        every = tuple(range(self.env.options.inputs))
        body = RequestBody(self.env.next_request(), OffsetFetchRequest(GroupMetadata(), every, False))
        for _ in Patience(AUDIT_S):
            answer: Any = self.line.carry(body)
            if answer is not None and answer.error_code not in RETRIABLE:
                return [offset for _, offset in answer.offsets]
        raise WireError(f"{self.wire.bootstrap}: no offsets of group {self.names.group} within {AUDIT_S:.0f} s")


class GroupWireSystem(System):
    """A `GroupWireSystem` is an application in this process on real brokers. `control` moves the brokers, where their
    owner has passed one."""

    def __init__(self, env: Environment, wire: GroupWireConfig, control: Control | None) -> None:
        self.env = env
        self.brokers: Any = GroupBrokers(env, wire, control)
        self.instances = [self.new_instance(slot) for slot in range(env.options.members)]

    def move_group(self, ms: int = 0) -> None:
        """Have the coordinators replaced, if there is a `control`. On one broker all of them move at once, and the
        brokers determine how long loading takes."""
        self.brokers.fail_over()

    def advance(self, ms: int) -> None:
        """Let time pass in this process and, `pace` times as much, at the brokers; only in this process once the
        application has copied everything, as far as it knows. What brokers would do to the group after that is
        therefore not observed."""
        for left in range(ms, 0, -SLICE_MS):
            virtual = min(left, SLICE_MS)
            if not self.is_done():
                time.sleep(virtual * self.brokers.wire.pace / 1000)
            super().advance(virtual)
        self.brokers.outstanding.collect()

    def is_done(self) -> bool:
        """Return whether every partition of the input has an owner that runs, is at its end, and has no transaction."""
        running = [one for one in self.instances if one.running and not one.consumer.paused and not one.works]
        records = self.env.options.records
        at_end = {p for one in running for p in one.consumer.assignment if one.consumer.positions.get(p) == records}
        return len(running) == len(self.instances) and len(at_end) == self.env.options.inputs

    def expire(self, slot: int) -> bool:
        """Return False, because the brokers expire members by themselves."""
        return False

    def expire_pending(self) -> bool:
        """Return False, because the brokers expire offsets by themselves."""
        return False

    def committed_offsets(self) -> list[int]:
        offsets: list[int] = self.brokers.committed_offsets()
        return offsets

    def close_connections(self) -> None:
        self.brokers.outstanding.close()
        self.brokers.close()


def over_tcp(config: Mapping[str, Any], control: Control | None = None) -> GroupWireSystem:
    """Return a driven application on the brokers at `config["bootstrap"]`; the keys are those of `GroupWireConfig` and
    `group_fencing.config.Config`.

    Raise ValueError for an invalid configuration, WireError if no broker answers or the brokers do not know the
    requests.
    """
    of_wire, of_group = split(config, GroupWireConfig, Config)
    wire, options = GroupWireConfig(**of_wire), Config.parse(of_group)
    if options.mode not in MODES:
        raise ValueError(f"config mode={options.mode!r}: no broker has the draft; use one of {', '.join(MODES)}")
    kernel = Kernel(options.seed)
    return GroupWireSystem(Environment(options, kernel, Network(kernel), DrivenPace(), Parts()), wire, control)
