"""How a violated property of transactions is told."""

from fencepost.properties.history.words import Words
from fencepost.properties.transactions.history.events import TRANSACTIONS, State

NAMES = {"outcome": {0: "abort", 1: "commit"}, "state": {state.value: state.name for state in State}}
_WORDS = Words(TRANSACTIONS, hidden=("node", "request"), names=NAMES)  # of no help to a reader

saying = _WORDS.saying
