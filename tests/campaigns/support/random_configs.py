"""Configurations of the reference drawn at random: how often what goes wrong, how long everything takes, how much there
is of everything, and the choices between what is right.

    python tests/script.py tests/campaigns/support/random_configs.py [CONFIGURATIONS [HISTORIES [SEED [FIRST]]]]

The variants take turns; each configuration is printed with what came of so many histories of it.  Exit code 1 if
anything is violated that is not predicted of the variant.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from random import Random
from typing import Any

import whole_batches
from fencepost.properties.catalogue import find
from fencepost.reference_impl.systems import end_to_end
from histories_campaign import VARIANTS as ALONE
from histories_campaign import batch

SEED = 1
WHOLE = "end-to-end/whole"
VARIANTS = (*ALONE, WHOLE)
"""Of the last one there are a tenth as many histories, each of some thousand events of all protocols."""
OFTEN, LESS_OFTEN = 0.6, 0.3
"""How probable it is that a size or a choice is another than usual, and a share or a time."""
RARELY, SELDOM = 0.08, 0.4
"""The greatest share of what strikes a node, of which there are several kinds, and of anything else."""
SIZES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "id-blocks": {
        "brokers": (1, 2, 5), "controllers": (1, 2, 5), "block_size": (1, 2, 25), "max_id": (40, 500, 100_000),
        "prefetch": (0.0, 0.5, 0.99), "quota_per_second": (0.0, 20.0), "authorization_error": ("retried", "fatal"),
        "controller_discovery": ("at_delivery", "at_sending"),
    },
    "transactions": {
        "clients": (1, 2, 6), "partitions": (1, 2, 4), "groups": (0, 1, 2), "keys": (1, 2), "txn_ids": (1, 2, 4),
        "readers": (1, 3), "records": (1, 5), "max_epoch": (3, 10, 32_767), "leader_change": ("replica", "restart"),
    },
    "two-phase": {
        "clients": (3, 6), "ids": (1, 2, 3), "partitions": (1, 2, 4), "readers": (1, 3), "records": (1, 5),
        "max_epoch": (3, 10, 32_767), "ordinary_share": (0.0, 0.4), "discard_share": (0.0, 0.2),
        "decided_abort_share": (0.0, 0.5),
    },
    "task-counts": {
        "workers": (1, 2, 4), "connectors": (1, 2, 3), "max_tasks": (1, 2, 4), "protocol": ("eager", "cooperative"),
        # Who restarts sooner than a task starts, or changes sooner than a set is written, never comes to an end.
        "restart_us": (60_000, 300_000), "change_us": (300_000, 1_500_000), "burst_us": (30_000, 300_000),
        "step_us": (500, 3_000),
    },
    "group-fencing": {
        "members": (1, 2, 4), "inputs": (1, 2, 4), "records": (2, 10), "outputs": (1, 3), "max_poll_records": (1, 5),
        "static": (False, True),
        # Who thinks for longer than a transaction may take never commits.
        "think_us": (3_000, 30_000), "transaction_timeout_ms": (200, 400, 1_500),
    },
    "source-commits": {
        "partitions": (1, 3), "records": (3, 12, 40), "outputs": (1, 3), "batch": (1, 5), "filtered": (0, 2, 5),
        "tolerance": ("none", "all"),
    },
    "source-offsets": {
        "partitions": (1, 2, 5), "records": (2, 12), "batch": (1, 4), "tasks": (1, 2, 4), "filtered": (0, 3),
        "boundary": ("poll", "interval", "connector"), "own_batches": (1, 4),
    },
    "end-to-end": {
        "workers": (1, 2, 4), "connectors": (1, 3), "max_tasks": (1, 4), "sources": (1, 4), "batch": (1, 4),
        "inputs": (1, 3), "outputs": (1, 3), "max_epoch": (5, 32_767), "block_size": (1, 25), "controllers": (1, 5),
        "members": (1, 2, 4), "max_poll_records": (1, 9),
    },
}  # fmt: skip
"""Of each protocol: how much there may be of what, and choices all of which are right.  A key that no table has, and
that is no share and no time, says what is done wrong, or which variant it is."""


def named(which: str) -> tuple[Any, Mapping[str, Any], Mapping[str, Any], set[str]]:
    """What simulates a variant, with which keys; all keys, as its histories usually have them; and those of them that
    are faults of nodes."""
    protocol, _, variant = which.partition("/")
    function, usual = next((f, c) for name, f, c in find(protocol)[0].simulators if name == variant)
    module, _, name = function.partition(":")
    simulate = getattr(import_module(module), name)
    made = getattr(simulate, "__self__", None)
    kinds = (made.run_type, made.config_type) if made else (end_to_end.Run, end_to_end.Config)
    fields = {key: field.default for kind in kinds for key, field in kind.__dataclass_fields__.items()}
    faults = set(made.faults_type.names) if made else {key for key in fields if fields[key] in (0.002, 0.003)}
    return simulate, usual, {**fields, **(made.cluster_defaults if made else {}), **usual}, faults


def drawn(number: int, seed: int = SEED) -> tuple[str, dict[str, Any]]:
    """The configuration of that number: the variant, and the keys that are not as its histories usually have them."""
    chance, which = Random(f"{seed} {number}"), VARIANTS[number % len(VARIANTS)]
    simulate, given, usual, faults = named(which)
    sizes = SIZES[which.partition("/")[0]]
    while True:
        found = {}
        for key, default in sorted(usual.items()):
            if chance.random() < (OFTEN if key in sizes else LESS_OFTEN):
                other = _other(sizes.get(key, ()), key, default, RARELY if key in faults else SELDOM, chance)
                found |= {key: other} if other != default else {}
        try:
            simulate(0, {**given, **found, "events": 1})
        except ValueError:  # sizes that do not go together
            continue
        return which, found


def _other(choices: tuple[Any, ...], key: str, default: Any, most: float, chance: Random) -> Any:
    """Another value of a key, or the default."""
    if choices:
        return chance.choice(choices)
    if key.endswith(("_us", "_ms")) and default > 0:
        return max(1, round(default * 10 ** chance.uniform(-1, 1)))
    if isinstance(default, float) and default > 0:  # what never happens by default is a mistake
        return chance.choice((0.0, round(min(most, default * chance.uniform(0.2, 8)), 4)))
    return default


def judged(number: int, histories: int, seed: int = SEED) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The variant and what is not usual of a configuration, and what came of it."""
    which, config = drawn(number, seed)
    if which == WHOLE:
        return which, config, whole_batches.batch(10_000 * seed + number, max(1, histories // 10), config)
    return which, config, batch(which, seed=10_000 * seed + number, histories=histories, cores=1, more=config)


def main() -> int:
    given = [*sys.argv[1:], *("60", "300", str(SEED), "0")[len(sys.argv) - 1 :]]
    configurations, histories, seed, first = map(int, given)
    violated = 0
    for number in range(first, first + configurations):
        which, config, reported = judged(number, histories, seed)
        violated += bool(reported["violations"])
        outcome = reported["violations"] or "nothing violated"
        print(f"{number} of seed {seed}: {which} {config}: {outcome}; undecided {reported['undecided']}", flush=True)
    return int(violated > 0)


if __name__ == "__main__":
    sys.exit(main())
