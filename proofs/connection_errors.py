"""This module handles errors and topics of broker connections without importing the broker client itself."""

import sys

LIVE = "fencepost.reference_impl.live."


def wire_errors() -> tuple[type[Exception], ...]:
    """Return the exception types raised when a broker does not answer. The tuple is empty if the broker client, which
    is slow to import, was never imported: it cannot have raised anything."""
    return _of("tcp.connection", "WireError")


def rest_errors() -> tuple[type[Exception], ...]:
    """Return the exception types raised when a cluster does not come to rest, so that a program is not decided."""
    return _of("connect.stepping", "NotAtRest")


def _of(module: str, name: str) -> tuple[type[Exception], ...]:
    imported = sys.modules.get(LIVE + module)
    return () if imported is None else (getattr(imported, name),)


def remove_topics(bootstrap: str, patience_s: float) -> list[str]:
    """Delete the topics that this process created on the brokers at this address, and return why any remain."""
    there = [module for name, module in list(sys.modules.items()) if name.startswith(LIVE)]
    makers = {module.remove_all for module in there if hasattr(module, "remove_all")}
    return [why for remove in makers for why in remove(bootstrap, patience_s)]
