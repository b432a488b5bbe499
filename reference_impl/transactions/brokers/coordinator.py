"""The transaction coordinator: every request it answers, and where to read on.

One class in layers, each resting on the one below, one file each: InitProducerId in `initializing.py`, the partitions
of a transaction in `adding.py`, time-outs and expiry in `timing.py`, EndTxn and fences in `ending.py`, completion in
`markers.py`, the transaction log and fail-over in `coordinator_base.py`. Every rule is a method of its own, named
after what it decides, so that an implementation with one thing wrong is a subclass with one method.
"""

from fencepost.reference_impl.simulation import Message
from fencepost.reference_impl.transactions.brokers.initializing import ProducerInitializing


class Coordinator(ProducerInitializing):
    """One reign over the transaction log, from taking over to resigning."""

    __slots__ = ()

    def receive(self, message: Message) -> None:
        kind = message.kind
        if kind == "init":
            self.receive_init(message)
        elif kind == "add":
            self.receive_add(message)
        elif kind == "check":
            self.receive_check(message)
        elif kind == "end":
            self.receive_end(message)
        elif kind == "marker_answer":
            self.receive_marker_answer(message)
        else:
            raise ValueError(f"the coordinator got {message}: it handles init, add, check, end and marker_answer")
