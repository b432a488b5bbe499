"""Where the promises of transactions end: what Kafka does not promise, and a mend that did not go far enough."""

from fencepost.model.language import forall, implies, promise
from fencepost.model.transactions.core import Client
from fencepost.model.transactions.expiry import Expiring, Recovering
from fencepost.model.transactions.full import V2

from .full import FullPromises


class LoneProducer(FullPromises, of=V2):
    """v2, asked for more than it gives."""

    @promise(rule="txn.P8")
    def alone_never_fenced(s):
        """A producer that is alone is never told to stop for retrying its own requests.  It fails: a fail-over forgets
        the epoch that a retry names (KIP-360), and the first request names none, so that a late copy of it bumps the
        epoch once more."""
        return forall(Client, lambda c: implies(s.dead[c], s.crowded))


class ExpiringPromises(FullPromises, of=Expiring):
    """v2 with ids that are forgotten."""


class RecoveringPromises(FullPromises, of=Recovering):
    """The same, with producers that come back."""
