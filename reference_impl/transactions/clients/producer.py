"""The transactional producer: one instance of a client, from initTransactions to its end (KafkaProducer.java).

The application calls `init`, `begin`, `send`, `commit` and `abort`; each says False, and does nothing, where the
state does not allow it. All are asynchronous: requests leave, answers arrive later. Below it lie `producer_calls.py`
(states, requests to the coordinator) and `sends.py` (records on their way to the partitions).
"""

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.clients.producer_calls import COMPLETING, ProducerCalls, State
from fencepost.reference_impl.transactions.events import Kind

__all__ = ["COMPLETING", "Producer", "State"]


class Producer(ProducerCalls):
    """One instance, in a slot whose address it has until the next instance takes it."""

    def init(self) -> bool:
        """initTransactions(): once per instance."""
        if self.state is not State.UNINITIALIZED:
            return False
        self.initialize()
        return True

    def begin(self) -> bool:
        """beginTransaction(): nothing is sent."""
        if self.state is not State.READY:
            return False
        self.state = State.IN_TRANSACTION
        self.txn = self.env.next_txn()
        self.env.emit(
            Kind.TXN_BEGUN, client=self.client, txn_id=self.txn_id, txn=self.txn, producer_id=self.producer_id,
            epoch=self.epoch,
        )  # fmt: skip
        return True

    def send(self, partition: int, count: int = 1) -> bool:
        """send() of records that leave as one batch, or sendOffsetsToTransaction() to a group's offsets partition."""
        if self.state is not State.IN_TRANSACTION:
            return False
        if self.env.config.is_v2:
            self.started = True
        elif partition not in self.added and partition not in self.to_add and partition != self.adding:
            self.to_add.append(partition)
        self.sends.add(partition, *[self.env.next_record() for _ in range(count)])
        self.go_on()
        return True

    def commit(self) -> bool:
        """commitTransaction(): EndTxn leaves when every record has its answer."""
        if self.state is not State.IN_TRANSACTION:
            return False
        self.state = State.COMMITTING_TRANSACTION
        self.go_on()
        return True

    def abort(self) -> bool:
        """abortTransaction(): gives up what is not answered yet (txn.15 is about what that leaves in flight)."""
        if self.state not in (State.IN_TRANSACTION, State.ABORTABLE_ERROR):
            return False
        self.state = State.ABORTING_TRANSACTION
        self.to_add.clear()
        if self.sends.give_up():
            self.require_epoch_bump()
        self.go_on()
        return True

    def receive(self, message: Message) -> None:
        if message.kind == "produce_answer":
            self.sends.answer(message.body)
        else:
            self.call.answer(message.body)

    def forget(self) -> None:
        self.env.emit(Kind.CLIENT_STOPPED, client=self.client)
