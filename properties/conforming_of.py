"""What each protocol brings to be held against its model, by name: a new protocol adds its own here.

A model is read when it is asked for, and no sooner: that takes up to two seconds.
"""

from functools import lru_cache
from importlib import import_module

from fencepost.properties.conforming import Conforming

_MODULES = {
    "id-blocks": "fencepost.properties.id_blocks.offline.conforming",
    "transactions": "fencepost.properties.transactions.offline.conforming",
    "task-counts": "fencepost.properties.task_counts.offline.conforming",
}
PROTOCOLS = frozenset(_MODULES)


@lru_cache
def conforming_of(protocol: str) -> Conforming:
    """What a protocol, one of PROTOCOLS, brings."""
    found = import_module(_MODULES[protocol]).CONFORMING
    assert isinstance(found, Conforming)
    return found
