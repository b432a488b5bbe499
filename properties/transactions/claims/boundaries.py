"""Where the promises of transactions end: ids that are forgotten, and a mend that did not go far enough."""

from fencepost.model.transactions.detailed.expiry import Expiring
from fencepost.properties.transactions.claims.full import FullPromises


class ExpiringPromises(FullPromises, of=Expiring):
    """v2 with ids that are forgotten."""
