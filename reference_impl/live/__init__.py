"""Real brokers behind the adapter interface: the reference implementation's clients, and real ones, over TCP."""

from fencepost.reference_impl.live.transactions.over_tcp import over_tcp

__all__ = ["over_tcp"]
