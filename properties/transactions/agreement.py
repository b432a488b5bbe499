"""What transactions bring to agreement: the plug, the machines, and the monitor.

The model is followed where `observations` says what events mean to it; without that the monitor judges alone.
"""

from ..agreement import Agreeing
from .machine import MACHINES
from .monitor import EXPECTING, Monitor
from .plug import BLACK_BOX, missing
from .programs import simpler, smaller
from .tours import SMALL, WAYS, tour

TRANSACTIONS = Agreeing(
    protocol="transactions",
    says="transactions and producer state",
    machines=MACHINES,
    implementations=dict.fromkeys(MACHINES, "fencepost.reference_impl.transactions:reference"),
    plug="fencepost.properties.transactions.plug",
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    monitor=Monitor,
    smaller=smaller,
    simpler=simpler,
    ways=WAYS,
    expecting=EXPECTING,
    composite=frozenset({"settle", "probe"}),
)
