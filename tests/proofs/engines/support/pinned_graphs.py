"""How many states each variant has at each distance, as far as a short search goes: what a guard that was made looser
changes though no promise breaks; and how far away each danger and each witness is.

    python tests/script.py tests/proofs/engines/support/pinned_graphs.py [PROTOCOL/VARIANT...]

makes data/graphs.json anew, or what it says of some variants.
"""

import json
import sys
from pathlib import Path

from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.explore.exploration import Exploration
from fencepost.properties.catalogue import Variant, bounds_of, protocols

KEPT = Path(__file__).parent / "data" / "graphs.json"
MOST = 30_000
"""States after which no further level is searched: with 4,000 half of the guards that were dropped one by one from
`group-fencing/new-protocol` changed nothing, and all variants together take under a minute with so many."""


Graph = dict[str, list[int] | dict[str, int]]
"""Of one variant, as `levels` makes it."""


def kept() -> dict[str, Graph]:
    """Of each variant what the file says."""
    read: dict[str, Graph] = json.loads(KEPT.read_text(encoding="utf-8"))
    return read


def variants() -> dict[str, Variant]:
    """Of every protocol, mistakes too."""
    return {f"{p}/{v.name}": v for p, entry in protocols().items() for v in entry.variants}


def levels(variant: Variant) -> Graph:
    """The states at each distance, the steps that were taken and cut, and the distance of each danger and each witness
    that is there; the states and steps too where each fault may happen once that the smallest bounds leave out."""
    observed = {name: asked for name, asked in variant.asked.items() if asked.kind == "sometimes"}
    bounds = bounds_of(variant, "smoke")
    found = explore(variant.spec, observed, bounds, max_states=MOST, threads=1)
    met = {**found.met, **{name: found.traces.steps(name) for name in observed if name in found.traces}}
    made: Graph = {"levels": found.levels, "steps": _steps(found), "met": dict(sorted(met.items()))}
    left_out = {a.budget: 1 for a in variant.spec.actions.values() if a.budget and not bounds.get(a.budget, 1)}
    if left_out:
        found = explore(variant.spec, {}, {**bounds, **left_out}, max_states=MOST, threads=1)
        made |= {"faults": [*found.levels, *_steps(found)]}
    return made


def _steps(found: Exploration) -> list[int]:
    return [sum(found.taken.values()), sum(found.cut.values())]


def main() -> None:
    """Makes the file anew, or what it says of the variants that are named."""
    there = variants()
    made = {name: reported for name, reported in (kept() if sys.argv[1:] else {}).items() if name in there}
    for name in sys.argv[1:] or there:
        made[name] = levels(there[name])
        print(name, made[name]["steps"], flush=True)
        KEPT.parent.mkdir(exist_ok=True)
        lines = [f" {json.dumps(name)}: {json.dumps(made[name])}" for name in there if name in made]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
