"""This package has real brokers behind the adapter interface, with the reference implementation's clients or real
clients over TCP."""

from fencepost.reference_impl.live.transactions.over_tcp import over_tcp

__all__ = ["over_tcp"]
