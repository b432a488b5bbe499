"""Machines that also send newcomers: for who asks whether a broker hands out a producer id twice, or what comes after
the last epoch.  `newcomers.py` says how many it takes.

    agree(over_tcp, protocol=with_newcomers(OVER_THE_WIRE, 5_000), variant="v1", config={"bootstrap": "host:port"})
"""

from dataclasses import replace
from typing import ClassVar

from fencepost.properties.agreement import Agreeing
from fencepost.properties.machine import scenario
from fencepost.properties.transactions.driving.verbs import Verbs


class WithNewcomers(Verbs, steps={}):
    """They come once in an example, at some moment."""

    count: ClassVar[int]
    came = False

    @scenario(when=lambda self: not self.came)
    def newcomers_come(self) -> None:
        self.came = True
        self.call("newcomers", self.count)


def with_newcomers(agreeing: Agreeing, count: int) -> Agreeing:
    """The same, with machines that send ``count`` newcomers beside all else.  There is no room for so many in the
    model, so that nothing but promises is asked of a program from there on, and of every program they may come."""
    machines = {
        variant: type(f"{machine.__name__}WithNewcomers", (WithNewcomers, machine), {"count": count})
        for variant, machine in agreeing.machines.items()
    }
    return replace(agreeing, machines=machines, followed=(none := dict.fromkeys(machines, 0.0)), compared=none)
