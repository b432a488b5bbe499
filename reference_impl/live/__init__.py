"""Real brokers behind the plug: the reference implementation's clients, and real ones, over TCP."""

from fencepost.reference_impl.live.transactions.beside import beside_reference
from fencepost.reference_impl.live.transactions.over_tcp import over_tcp
from fencepost.reference_impl.live.transactions.prompt import prompt

__all__ = ["beside_reference", "over_tcp", "prompt"]
