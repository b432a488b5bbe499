"""Errors of a connection to brokers, for those who may meet one without having imported what speaks to brokers."""

import sys


def wire_errors() -> tuple[type[Exception], ...]:
    """The error that no answer was had from a broker; none if what speaks to brokers, which is slow to import, was
    never imported: then it was not raised."""
    connection = sys.modules.get("fencepost.reference_impl.live.tcp.connection")
    return () if connection is None else (connection.WireError,)
