"""Detection rates: in how many clusters agreement finds each defect of the reference, by seed.

    python tests/script.py tests/support/detection.py measure RATES.jsonl --seeds 1-10 [--protocol NAME]
    python tests/script.py tests/support/detection.py compare BEFORE.jsonl AFTER.jsonl

``measure`` appends a line for each defect and seed, and leaves out what the file has already, so that it goes on where
it was stopped.  ``found`` is the number of clusters until the first one that disagrees with model or promises, null
if there was none among ``examples``.  ``compare`` exits with 1 where a defect is found for three seeds less than
before or more, or where the sum of the medians is up by more than a tenth.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.search import Search
from fencepost.properties.agreement import DRIVEN, driven
from fencepost.properties.registry import folder

EXAMPLES = 100
"""Clusters at most, as many as `fencepost agree` drives by default."""
SEEDS_LESS, UP = 2, 1.1
"""For so many seeds less may a defect be found, and by this factor may the sum of the medians go up."""


def defects(protocol: str) -> dict[str, Any]:
    """The defects of a protocol's reference that break something, by name."""
    module = import_module(f"fencepost.reference_impl.{folder(protocol)}.defects.broken")
    return {name: one for name, one in sorted(module.REGISTRY.items()) if one.breaks.value != "nothing"}


def found_after(protocol: str, defect: Any, seed: int) -> int | None:
    """Clusters until the first failure; None if there is none among `EXAMPLES`."""
    agreeing, config = driven(protocol), dict(defect.needs)
    variant = config.pop("mode", agreeing.variants[0])
    excused = agreeing.expecting.get(variant, frozenset())
    search = Search(agreeing, defect, variant, config, excused, None, ())
    search.coverage = Coverage.of_steps()
    search.search(seed, EXAMPLES, agreeing.steps, None)
    return search.examples_to_failure or None if search.failures else None


def lines(path: Path) -> dict[tuple[str, str, int], int | None]:
    """What a file of rates says, by protocol, defect and seed."""
    read = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return {(r["protocol"], r["defect"], r["seed"]): r["found"] for r in read}


def measure(path: Path, seeds: range, protocols: list[str]) -> None:
    """Appends what the file lacks, seed by seed."""
    done = lines(path)
    asked = [(p, name, one, seed) for seed in seeds for p in protocols for name, one in defects(p).items()]
    left = [a for a in asked if (a[0], a[1], a[3]) not in done]
    began = time.monotonic()
    for number, (protocol, name, one, seed) in enumerate(left, 1):
        found = found_after(protocol, one, seed)
        line = {"protocol": protocol, "defect": name, "seed": seed, "found": found, "examples": EXAMPLES}
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
        rest = (time.monotonic() - began) / number * (len(left) - number)
        print(
            f"{number}/{len(left)} seed {seed} {protocol} {name}: {found}, about {rest / 60:.0f} min left", flush=True
        )


def compared(before: Path, after: Path) -> Iterator[str]:
    """What got worse, a sentence each, on the defects and seeds that both files have."""
    old, new = lines(before), lines(after)
    both = sorted(old.keys() & new.keys())
    names = sorted({key[:2] for key in both})
    sums = [0.0, 0.0]
    for name in names:
        rates = [[rate[key] for key in both if key[:2] == name] for rate in (old, new)]
        hits = [sum(found is not None for found in each) for each in rates]
        medians = [statistics.median(EXAMPLES + 1 if f is None else f for f in each) for each in rates]
        sums = [total + median for total, median in zip(sums, medians, strict=True)]
        if hits[1] < hits[0] - SEEDS_LESS:
            yield f"{'/'.join(name)}: found for {hits[1]} of {len(rates[0])} seeds, and for {hits[0]} before"
        elif medians[1] > 2 * medians[0]:
            print(f"{'/'.join(name)}: median {medians[1]:g} clusters, {medians[0]:g} before: try it with 30 seeds")
    print(f"{len(names)} defects, {len(both)} runs in both; sum of medians {sums[0]:g} before, {sums[1]:g} after")
    if sums[1] > UP * sums[0]:
        yield f"the sum of the medians is up by {sums[1] / sums[0] - 1:.0%}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("out", type=Path)
    one.add_argument("--seeds", default="1-10", help="first-last")
    one.add_argument("--protocol", action="append", choices=sorted(DRIVEN))
    two = commands.add_parser("compare")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "measure":
        first, _, last = given.seeds.partition("-")
        measure(given.out, range(int(first), int(last or first) + 1), given.protocol or sorted(DRIVEN))
        return 0
    worse = list(compared(given.before, given.after))
    print("\n".join(worse) or "nothing is worse than allowed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
