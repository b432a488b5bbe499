"""How many states partial order leaves, of every variant within its default bounds: all that is asked together, and
each promise alone.

    python tests/script.py tests/campaigns/support/partial_order_campaign.py [--most 10000] [PROTOCOL/VARIANT...]

Both searches go as deep: as the whole one comes with ``most`` states, and no deeper than until all is decided.  A row
of Markdown for each as it is there, then how often how much is left.  Exit code 1 if the two find different things.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import Variant, bounds_of, find, protocols

TOGETHER = "all together"
SHARES = (0.8, 0.5, 0.2, 0.05)


@dataclass(frozen=True)
class Row:
    """``whole`` and ``kept``: states without and with partial order."""

    variant: str
    asked: str
    whole: int
    kept: int
    same: bool

    @property
    def share(self) -> float:
        return self.kept / self.whole

    def __str__(self) -> str:
        said = "" if self.same else " **differs** |"
        return f"| {self.variant} | {self.asked} | {self.whole:,} | {self.kept:,} | {self.share:.0%} |{said}"


def compared(name: str, variant: Variant, label: str, asked: Mapping[str, Property], most: int) -> Row:
    bounds, spec = bounds_of(variant, "smoke"), without_unread_ghosts(variant.spec, asked.values())
    whole = explore(spec, asked, bounds, max_states=most)
    deepest = None if whole.complete else whole.depth - 1
    kept = explore(spec, asked, bounds, max_depth=deepest, partial_order=True)
    same = _decided(kept) == _decided(whole)
    depth = kept.depth if len(kept.traces) == len(asked) else whole.depth
    return Row(name, label, sum(whole.levels[:depth]), kept.distinct, same)


def _decided(made: Exploration) -> dict[str, int]:
    """Steps to where each property was decided, if it was."""
    return {name: made.traces.steps(name) for name in made.traces}


def rows(name: str, most: int) -> Iterator[Row]:
    """Refinements are about all steps, and are left out."""
    variant = find(name)[1]
    assert variant is not None
    every = {n: p for n, p in variant.asked.items() if p.kind != "eventually" and p.role != "refinement"}
    if every:
        yield compared(name, variant, TOGETHER, every, most)
    for n, item in every.items():
        if item.role in ("promise", "step") and len(every) > 1:
            yield compared(name, variant, name_in_words(n), {n: item}, most)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000, help="states of the whole search")
    parser.add_argument("variants", nargs="*", metavar="PROTOCOL/VARIANT")
    options = parser.parse_args(arguments)
    names = options.variants or [f"{p}/{v.name}" for p, entry in protocols().items() for v in entry.variants]
    found = list[Row]()
    print("| variant | asked | states | by partial order | left |\n| --- | --- | ---: | ---: | ---: |")
    for name in names:
        for row in rows(name, options.most):
            found.append(row)
            print(row, flush=True)
    for what, some in (
        (TOGETHER, [row for row in found if row.asked == TOGETHER]),
        ("each alone", [row for row in found if row.asked != TOGETHER]),
    ):
        told = ", ".join(f"{sum(row.share <= share for row in some)} with at most {share:.0%} left" for share in SHARES)
        print(f"\n{what}: {len(some)} searches, {told}")
    return int(not all(row.same for row in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
