"""This bench sends raw requests to coordinator and partitions, without a producer."""

from fencepost.reference_impl.kafka.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    RequestBody,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from fencepost.reference_impl.systems.transactions import Parts, build

V1, VERIFIED, V2 = "v1", "v1-verified", "v2"


class Bench:
    """A `Bench` is one cluster with the address `tester`, whose method `ask` runs each request to its answer."""

    def __init__(self, mode=V2, parts=None, **config):
        self.system = build({"seed": 0, "mode": mode, "clients": 1, "groups": 1} | config, parts or Parts())
        self.env = self.system.env
        self.env.network.nodes["tester"] = self
        self.answers = {}

    def arrive(self, message):
        self.answers[message.body.number] = message.body.data

    # Requests

    def send(self, kind, target, data):
        """Send a request and return its number."""
        number = self.env.next_request()
        self.env.network.send(kind, "tester", target, RequestBody(number, data))
        return number

    def ask(self, kind, target, data):
        """Send a request, let everything follow from it, and return the answer."""
        number = self.send(kind, target, data)
        self.settle()
        return self.answers[number]

    def init(self, producer_id=-1, epoch=-1, txn_id=0, timeout_ms=60_000):
        """Return (error, producer id, epoch)."""
        return tuple(self.ask("init", "coordinator", InitProducerIdRequest(txn_id, timeout_ms, producer_id, epoch)))

    def add(self, producer_id, epoch, partition=0, txn_id=0):
        request = AddPartitionsToTxnRequest(txn_id, producer_id, epoch, partition)
        return self.ask("add", "coordinator", request).error_code

    def add_offsets(self, producer_id, epoch, group=0, txn_id=0):
        return self.ask("add", "coordinator", AddOffsetsToTxnRequest(txn_id, producer_id, epoch, group)).error_code

    def verify(self, producer_id, epoch, partition=0, txn_id=0):
        request = AddPartitionsToTxnRequest(txn_id, producer_id, epoch, partition, True)
        return self.ask("check", "coordinator", request).error_code

    def end(self, producer_id, epoch, committed=True, txn_id=0):
        """Return (error, producer id, epoch)."""
        return tuple(self.ask("end", "coordinator", EndTxnRequest(txn_id, producer_id, epoch, committed)))

    def produce(self, producer_id, epoch, sequence=0, record=0, partition=0, transactional=True):
        """Return (error, offset)."""
        request = ProduceRequest(0, partition, producer_id, epoch, sequence, record, transactional)
        return tuple(self.ask("produce", f"partition-{partition}", request))

    def commit_offset(self, producer_id, epoch, record=0, group=0):
        """Return (error, offset in the offsets partition)."""
        partition = self.env.config.partitions + group
        request = TxnOffsetCommitRequest(0, group, producer_id, epoch, record)
        return tuple(self.ask("produce", f"partition-{partition}", request))

    def marker(self, producer_id, epoch, committed=True, partition=0, coordinator_epoch=0, version=0):
        """Return the error code of a marker that is written without the coordinator's knowledge."""
        request = WriteTxnMarkersRequest(producer_id, epoch, committed, partition, coordinator_epoch, version)
        return self.ask("marker", f"partition-{partition}", request).error_code

    # What the driver does

    def settle(self):
        """Deliver everything, and let every append succeed."""
        self.flow()
        while self.system.log_append():
            self.flow()

    def flow(self, *kinds):
        """Deliver all messages (of these kinds) and their effects, oldest first. Appends stay unfinished."""
        while flying := [m for m in self.system.messages() if not kinds or m[1] in kinds]:
            for number, *_ in flying:
                self.system.deliver(number)

    def flying(self, kind):
        return [number for number, k, *_ in self.system.messages() if k == kind]

    # What can be seen

    @property
    def metadata(self):
        return self.system.coordinator.transactions[0]

    @property
    def state(self):
        return self.metadata.now.state

    def log(self, partition=0):
        return self.system.leaders[partition].log

    def events(self, *kinds):
        return [event for event in self.system.drain_events() if event.kind in kinds]
