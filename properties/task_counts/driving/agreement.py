"""What task counts bring to agreement: the plug, the machines, and the core of each text."""

from fencepost.properties.agreement import Agreeing
from fencepost.properties.task_counts.driving.interface import BLACK_BOX, missing
from fencepost.properties.task_counts.driving.machine import MACHINES
from fencepost.properties.task_counts.driving.programs import call_of, dangers_of, simpler, smaller
from fencepost.properties.task_counts.driving.tours import SMALL, WAYS, tour
from fencepost.properties.task_counts.monitoring import CountsBeside
from fencepost.properties.task_counts.online.followed import follow

TASK_COUNTS = Agreeing(
    protocol="task-counts",
    says="exactly-once source connectors: who may run",
    machines=MACHINES,
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    beside=CountsBeside,
    smaller=smaller,
    simpler=simpler,
    ways=WAYS,
    follow=follow,
    dangers=dangers_of,
    call_of=call_of,
    composite=frozenset({"run", "work", "finish", "do"}),
    steps=10,
)
