"""What task counts bring to agreement: the plug, the machines, and the core of each text."""

from fencepost.properties.agreement import Agreeing
from fencepost.properties.task_counts.driving.interface import BLACK_BOX, missing
from fencepost.properties.task_counts.driving.machine import MACHINES
from fencepost.properties.task_counts.driving.programs import Call, call_of, turned, valid
from fencepost.properties.task_counts.monitoring import CountsBeside
from fencepost.properties.task_counts.online.followed import follow
from fencepost.properties.task_counts.scenarios.tours import SMALL, WAYS, tour

TASK_COUNTS = Agreeing(
    protocol="task-counts",
    says="exactly-once source connectors: who may run",
    machines=MACHINES,
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    beside=CountsBeside,
    call=Call,
    ways=WAYS,
    follow=follow,
    call_of=call_of,
    turn=turned,
    composite=frozenset({"run", "work", "get_on", "finish", "do"}),
    valid=valid,
    steps=9,
)
