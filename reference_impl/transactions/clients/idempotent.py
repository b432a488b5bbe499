"""The idempotent producer: no transactions, every record once per partition, as long as the leader remembers it.

An application gets it by `enable.idempotence` alone. It has a producer id that no transactional id belongs to, and
raises its epoch by itself (KIP-360): a partition takes what comes under the new epoch for something new. So nothing
that may have been written is sent again under another number: it is given up, and the application is told.
(TransactionManager.java: bumpIdempotentProducerEpoch; KAFKA-14034)
"""

from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.producer import Producer, State
from fencepost.reference_impl.transactions.clients.sends import Lane, Sender, Sends, SentBatch
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.messages import NO_TRANSACTIONAL_ID, ProduceRequest


class IdempotentSends(Sends):
    """Lanes of records outside of any transaction."""

    def __init__(self, env: Environment, node: Node, sender: Sender) -> None:
        super().__init__(env, node, sender)
        self.bump_wanted = False

    def request(self, batch: SentBatch) -> ProduceRequest:
        sender = self.sender
        return ProduceRequest(
            NO_TRANSACTIONAL_ID, batch.partition, sender.producer_id, sender.epoch, batch.sequence, batch.record,
            is_transactional=False, more=batch.more,
        )  # fmt: skip

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        """Records sent to this partition are in doubt, and those not yet sent wait for another epoch."""
        lane = self.lanes[batch.partition]
        given_up, lane.in_flight = lane.in_flight, []
        for sent in given_up:
            self.waiting.pop(sent.request, None)
            self.tell_failed(sent, error)
        self.bump_wanted = True
        self.bump_when_quiet()

    def has_room(self, lane: Lane) -> bool:
        return not self.bump_wanted and super().has_room(lane)

    def acked(self, batch: SentBatch, offset: int) -> None:
        super().acked(batch, offset)
        self.bump_when_quiet()

    def bump_when_quiet(self) -> None:
        """The next epoch, not before every record sent under this one has its answer."""
        if self.bump_wanted and not any(lane.in_flight for lane in self.lanes.values()):
            self.bump_wanted = False
            self.bump()

    def bump(self) -> None:
        """One epoch on; on every partition sequence numbers start again."""
        self.sender.epoch += 1
        self.reset_sequences()
        for partition in self.lanes:
            self.move(partition)


class IdempotentProducer(Producer):
    """One instance. `init` comes first here too: Kafka's client does it when it is made."""

    sends_class: type[Sends] = IdempotentSends

    def __init__(self, env: Environment, slot: int) -> None:
        super().__init__(env, slot, NO_TRANSACTIONAL_ID)

    def begin(self) -> bool:
        """There are no transactions."""
        return False

    def send(self, partition: int, count: int = 1) -> bool:
        """send() of records that leave as one batch."""
        if self.state is not State.READY:
            return False
        self.sends.add(partition, *(self.env.next_record() for _ in range(count)))
        return True

    def may_send_to(self, partition: int) -> bool:
        return True

    def go_on(self) -> None:
        """The coordinator is asked for nothing."""
