"""Where the promises of transactions end: ids that are forgotten, and a mend that did not go far enough."""

from fencepost.model.transactions.expiry import Expiring

from .full import FullPromises


class ExpiringPromises(FullPromises, of=Expiring):
    """v2 with ids that are forgotten."""
