"""This module handles errors and topics of broker connections without importing the broker client itself."""

import sys

LIVE = "fencepost.reference_impl.live."


def wire_errors() -> tuple[type[Exception], ...]:
    """Return the exception types raised when a broker does not answer. The tuple is empty if the broker client, which
    is slow to import, was never imported: it cannot have raised anything."""
    connection = sys.modules.get("fencepost.reference_impl.live.tcp.connection")
    return () if connection is None else (connection.WireError,)


def remove_topics(bootstrap: str, patience_s: float) -> list[str]:
    """Delete the topics that this process created on the brokers at this address, and return why any remain."""
    there = [module for name, module in list(sys.modules.items()) if name.startswith(LIVE)]
    makers = {module.remove_all for module in there if hasattr(module, "remove_all")}
    return [why for remove in makers for why in remove(bootstrap, patience_s)]
