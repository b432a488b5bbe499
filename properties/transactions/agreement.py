"""What transactions bring to agreement: the plug, the machines, the monitor, and three variants of the model."""

from ..agreement import Agreeing
from .followed import follow
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
    follow=follow,
    expecting=EXPECTING,
    composite=frozenset({"settle", "probe", "newcomers"}),
)
