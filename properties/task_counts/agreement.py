"""What task counts bring to agreement: the plug, the machines, the monitor, and the core of each text."""

from ..agreement import Agreeing
from .followed import follow
from .machine import MACHINES
from .monitor import Monitor
from .plug import BLACK_BOX, missing
from .programs import call_of, dangers_of, simpler, smaller
from .tours import SMALL, WAYS, tour

TASK_COUNTS = Agreeing(
    protocol="task-counts",
    says="exactly-once source connectors: who may run",
    machines=MACHINES,
    implementations=dict.fromkeys(MACHINES, "fencepost.reference_impl.connect:reference"),
    plug="fencepost.properties.task_counts.plug",
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    monitor=Monitor,
    smaller=smaller,
    simpler=simpler,
    ways=WAYS,
    follow=follow,
    dangers=dangers_of,
    call_of=call_of,
    composite=frozenset({"run", "work", "finish", "do"}),
    steps=10,
)
