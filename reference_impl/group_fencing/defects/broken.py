"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.group_fencing.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, some input is copied twice or
never; PROGRESS, something stays unresolved for ever, though faults have stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.group_fencing.defects import offsets
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import System, build
from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, PROGRESS = Breaks.PROMISE, Breaks.PROGRESS
LONG = (("transaction_timeout_ms", 1_500),)  # longer than a rebalance takes in a free-running history

_BROKEN = (
    Broken("any_generation_commits", "447.16", PROMISE, Parts(classic_group=offsets.AnyGenerationCommits)),
    Broken("pending_ignored", "447.9", PROMISE, Parts(coordinator=offsets.PendingIgnored), LONG),
    Broken("abort_keeps_pending", "447.9", PROGRESS, Parts(offsets=offsets.AbortKeepsPending)),
)

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
