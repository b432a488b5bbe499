"""The pieces of a cluster and its clients that a broken implementation replaces; the defaults are the correct ones."""

from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.group_fencing.brokers.classic_group import ClassicGroup
from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator, GroupState
from fencepost.reference_impl.group_fencing.brokers.modern_group import ModernGroup
from fencepost.reference_impl.group_fencing.brokers.offsets import GroupOffsetsLog
from fencepost.reference_impl.group_fencing.brokers.transaction_coordinator import GroupAwareCoordinator
from fencepost.reference_impl.group_fencing.clients.application import Application
from fencepost.reference_impl.group_fencing.clients.classic_consumer import ClassicConsumer
from fencepost.reference_impl.group_fencing.clients.consumer import Consumer
from fencepost.reference_impl.group_fencing.clients.modern_consumer import ModernConsumer
from fencepost.reference_impl.group_fencing.clients.producer import GroupProducer
from fencepost.reference_impl.group_fencing.environment import Environment
from fencepost.reference_impl.transactions.system import Parts as TransactionParts


@dataclass(frozen=True, slots=True)
class Parts:
    """One of each."""

    application: type[Application] = Application
    classic_consumer: type[ClassicConsumer] = ClassicConsumer
    modern_consumer: type[ModernConsumer] = ModernConsumer
    producer: type[GroupProducer] = GroupProducer
    coordinator: type[GroupCoordinator] = GroupCoordinator
    classic_group: type[ClassicGroup] = ClassicGroup
    modern_group: type[ModernGroup] = ModernGroup
    offsets: type[GroupOffsetsLog] = GroupOffsetsLog
    transactions: type[GroupAwareCoordinator] = GroupAwareCoordinator

    def new_group(self, coordinator: GroupCoordinator) -> GroupState:
        """The group, under the protocol of its members."""
        is_new = coordinator.env.options.is_new_protocol
        return self.modern_group(coordinator) if is_new else self.classic_group(coordinator)

    def new_consumer(self, env: Environment, *arguments: Any) -> Consumer:
        """A consumer of the group's protocol."""
        is_new = env.options.is_new_protocol
        return self.modern_consumer(env, *arguments) if is_new else self.classic_consumer(env, *arguments)

    @property
    def below(self) -> TransactionParts:
        """The pieces of the transactions below."""
        return TransactionParts(
            coordinator=self.transactions, offsets_leader=self.coordinator, offsets_log=self.offsets
        )
