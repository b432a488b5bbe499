"""The script of scenarios on transactions: what clients do, to its end.

script = Script(Parts(), mode="v1")
script.start(0)                          # initTransactions of slot 0
script.begin(0, 0)                       # a transaction with a record to partition 0, all answered
script.system.commit(0)
late = script.hold("end")                # EndTxn is on its way, and stays there
script.settle(31_000)                    # the client times out and asks again: that copy arrives
script.release(late)
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.reference_impl.simulation.scenarios import Known, Messages
from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.system import Parts, System, build

PATIENCE_MS = 500  # back-offs are 100 ms: five of them settle everything that can settle
CLIENT_TIMEOUT_MS = 31_000  # longer than a client waits for an answer
TXN_TIMEOUT_MS = 75_000  # longer than transaction.timeout.ms and one interval of looking for it
EXPIRY_MS = 8 * 24 * 3600 * 1000  # longer than transactional.id.expiration.ms


class Script(Messages):
    """A cluster of these parts, or of another implementation."""

    SMALL = MappingProxyType({"seed": 0, "clients": 2, "partitions": 2})

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts or Parts())

    def otherwise(self) -> bool:
        """Appends to the transaction log succeed."""
        return bool(self.system.log_append())

    def settle(self, ms: int = PATIENCE_MS) -> None:
        super().settle(ms)

    def start(self, *slots: int) -> None:
        """initTransactions, of one slot after the other."""
        for slot in slots:
            self.system.init(slot)
            self.settle()

    def begin(self, slot: int, *partitions: int) -> None:
        """A transaction with a record to each partition, all answered."""
        self.system.begin(slot)
        self.send(slot, *partitions)

    def send(self, slot: int, *partitions: int) -> None:
        """A record to each partition, all answered."""
        for partition in partitions:
            self.system.send(slot, partition)
            self.settle()

    def commit(self, slot: int) -> None:
        """commitTransaction, to its end."""
        self.system.commit(slot)
        self.settle()

    def abort(self, slot: int) -> None:
        """abortTransaction, to its end."""
        self.system.abort(slot)
        self.settle()

    def read(self, reader: int = 0) -> list[int]:
        """The records that a read_committed reader gets next, from every partition in turn."""
        partitions = range(self.config["partitions"])
        return [record for partition in partitions for _, record in self.system.read(reader, partition)]

    def at_the_last_epoch(self) -> None:
        """Slot 0 has an open transaction under the largest epoch that is ever handed out."""
        self.start(0)
        for _ in range(self.config.get("max_epoch", 32767) - 1):
            self.begin(0, 0)
            self.commit(0)
        self.begin(0, 0)


KNOWN = Known(Script, REGISTRY)
"""Filled by the modules beside this one; `known` has them all."""
