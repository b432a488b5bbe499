"""Histories of transactions with planted violations, in v2; `plants` says what is edited, and what must be found."""

from fencepost.properties.planting.beds import Bed
from fencepost.properties.transactions.history.events import TRANSACTIONS
from fencepost.properties.transactions.history.plants import PLANTS

EXAMPLE = "fencepost.reference_impl.transactions.scenarios.everything:rows"
BED = Bed(TRANSACTIONS, EXAMPLE, PLANTS, {"mode": "v2"})
simulate_many = BED.simulate_many
