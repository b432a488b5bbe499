"""What a run on brokers that act by themselves shows beside its history."""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.transactions.monitoring import TransactionsBeside


class BesideTheWire(TransactionsBeside):
    """Brokers may take longer to time a transaction out than the driver waits: whatever is open was fenced, or nothing
    can be said."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        if config.get("timeouts"):
            self.timeout_ms = 0  # in real time, of which the driver knows nothing

    def is_decidable(self) -> bool:
        transactions = self.transactions.values()
        return all(t.told >= 0 or not t.records or self.is_fenced(t.pair) for t in transactions)
