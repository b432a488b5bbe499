"""What a connection to brokers leaves behind, for those who may not have imported what speaks to brokers: errors, and
topics.
"""

import sys

LIVE = "fencepost.reference_impl.live."


def wire_errors() -> tuple[type[Exception], ...]:
    """The error that no answer was had from a broker; none if what speaks to brokers, which is slow to import, was
    never imported: then it was not raised."""
    connection = sys.modules.get("fencepost.reference_impl.live.tcp.connection")
    return () if connection is None else (connection.WireError,)


def remove_topics(bootstrap: str, patience_s: float) -> list[str]:
    """Has the topics deleted that this process has made on the brokers that it reached by this address; those that
    could not be, in words."""
    there = [module for name, module in list(sys.modules.items()) if name.startswith(LIVE)]
    makers = {module.remove_all for module in there if hasattr(module, "remove_all")}
    return [why for remove in makers for why in remove(bootstrap, patience_s)]
