"""This module has a consumer under the new protocol (KIP-848), whose membership runs in the background of the
application.

The epoch, and with it the group metadata, changes as soon as a heartbeat is answered, whatever the application is
doing. A fenced member gives up its partitions and joins again under the same id. It does so at once, unless it has to
report lost partitions to a rebalance listener, which happens in `poll` only. Partitions are also revoked in `poll` only
(since KAFKA-20332). (AsyncKafkaConsumer.java, AbstractMembershipManager.java, ConsumerHeartbeatRequestManager.java)
"""

from enum import Enum

from fencepost.reference_impl.kafka.clients.group_consumer import Consumer, Listener
from fencepost.reference_impl.kafka.clients.sends import Question
from fencepost.reference_impl.kafka.errors import RETRIED, GroupErrorCode
from fencepost.reference_impl.kafka.group_environment import Environment, Kind
from fencepost.reference_impl.kafka.messages import (
    NO_INSTANCE,
    GroupHeartbeatRequest,
    GroupHeartbeatResponse,
    GroupMetadata,
    RequestBody,
)

JOINING, LEFT, STATIC_LEFT = 0, -1, -2
FENCED = frozenset({GroupErrorCode.UNKNOWN_MEMBER_ID, GroupErrorCode.FENCED_MEMBER_EPOCH})
FATAL = frozenset(
    {GroupErrorCode.FENCED_INSTANCE_ID, GroupErrorCode.UNRELEASED_INSTANCE_ID, GroupErrorCode.UNSUPPORTED_VERSION}
)


class MemberState(Enum):
    """A `MemberState` is one of Kafka's states of a member, except those between which nothing can happen here."""

    UNSUBSCRIBED = 0
    JOINING = 1
    RECONCILING = 2
    STABLE = 3
    FENCED = 4
    STALE = 5


class ModernConsumer(Consumer):
    """A `ModernConsumer` is a member of a group of the new protocol, or a consumer that is about to join."""

    def __init__(self, env: Environment, slot: int, client: int, old: bool, listener: Listener | None) -> None:
        super().__init__(env, slot, client, old, listener)
        self.state = MemberState.UNSUBSCRIBED
        self.member = env.next_member()
        self.epoch = JOINING
        self.target: tuple[int, ...] = ()
        self.reported_owned: tuple[int, ...] | None = None  # the partitions last reported to the coordinator
        self.sending: tuple[int, ...] = ()  # what is owned, as of the heartbeat that is outstanding
        self.metadata = GroupMetadata(instance=self.instance)
        self.adopted: object = None  # the last accepted answer that names partitions
        self.beating = self.new_call()
        self.every(env.options.heartbeat_ms, self.beat)

    def group_metadata(self) -> GroupMetadata:
        return self.metadata

    def take_part(self) -> None:
        """Run what waits for the application's thread: listeners, revocations, and the return of a stale member."""
        if self.state in (MemberState.FENCED, MemberState.STALE):
            self.give_up(self.assignment, lost=True)
            self.join()
        elif self.state is MemberState.UNSUBSCRIBED:
            self.join()
        self.reconcile(in_poll=True)

    def fetch_metadata(self) -> GroupMetadata:
        return self.metadata

    def is_unaware(self) -> bool:
        return self.env.assignments.get(self.member, self.adopted) is not self.adopted

    # The membership manager

    def join(self) -> None:
        self.state = MemberState.JOINING
        self.epoch = JOINING
        self.reported_owned = None
        self.beating.finish()
        self.heartbeat()

    def beat(self) -> None:
        out = (MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.STALE)
        if self.state in out or self.error:
            return
        if self.env.now_ms - self.polled_ms > self.env.options.max_poll_ms:
            self.go_stale()
        else:
            self.heartbeat()

    def heartbeat(self) -> None:
        if not self.beating.outstanding:
            self.beating.start(Question("group_heartbeat", self.ask_beat, self.heartbeat_answered))

    def ask_beat(self, request: int) -> GroupHeartbeatRequest:
        """Return the heartbeat, with the owned partitions if they or their report may have changed."""
        again = self.reported_owned is None
        owned = self.assignment if self.epoch != JOINING else ()
        changed = again or owned != self.reported_owned
        self.reported_owned = None  # until there is an answer
        self.sending = owned
        return GroupHeartbeatRequest(self.member, self.epoch, self.instance, owned if changed else None, again)

    def heartbeat_answered(self, request: int, answer: GroupHeartbeatResponse) -> None:
        self.beating.finish()
        error = answer.error_code
        if error in FENCED:
            self.fenced()
        elif error in FATAL:
            self.error = error
        elif error in RETRIED:
            return
        else:
            self.reported_owned = self.sending
            self.adopt(answer)

    def adopt(self, answer: GroupHeartbeatResponse) -> None:
        """Take over the epoch at once, also for groupMetadata(). The partitions follow."""
        if answer.epoch != self.epoch:
            self.epoch = answer.epoch
            self.metadata = GroupMetadata(self.epoch, self.member, self.instance)
            self.report(Kind.JOINED, generation=self.epoch, member=self.member, instance=self.instance)
        if self.state is MemberState.JOINING:
            self.state = MemberState.STABLE
        if answer.assignment is not None:
            self.adopted = answer
            self.target = answer.assignment
            self.state = MemberState.RECONCILING
            self.reconcile(in_poll=False)

    def reconcile(self, in_poll: bool) -> None:
        """Give up revoked partitions, take new ones, and acknowledge both."""
        if self.state is not MemberState.RECONCILING:
            return
        revoked = tuple(partition for partition in self.assignment if partition not in self.target)
        changes = revoked or set(self.target) != set(self.assignment)
        if not in_poll and (revoked or (changes and self.listener is not None)):
            return
        self.state = MemberState.STABLE
        if revoked:
            self.give_up(revoked, lost=False)
        if changes:
            self.assign(self.target, self.epoch)
            self.heartbeat()

    def fenced(self) -> None:
        """Handle an answer by which the coordinator does not know the member, or not at this epoch."""
        self.state = MemberState.FENCED
        if self.listener is None or not self.assignment:
            self.give_up(self.assignment, lost=True)
            self.join()

    def go_stale(self) -> None:
        """Leave the group because max.poll.interval.ms is over, until the application polls again."""
        self.leave()
        self.state = MemberState.STALE
        self.beating.finish()
        if self.listener is None:
            self.give_up(self.assignment, lost=True)

    def leave(self) -> None:
        """Send the coordinator a leave request without waiting for its answer."""
        epoch = LEFT if self.instance == NO_INSTANCE else STATIC_LEFT
        request = RequestBody(self.env.next_request(), GroupHeartbeatRequest(self.member, epoch, self.instance))
        self.env.network.send("group_heartbeat", self.name, self.env.group_address, request)
        self.report(Kind.LEFT, generation=self.epoch, member=self.member, instance=self.instance)
