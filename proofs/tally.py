"""This module counts the verdicts of a run of ``verify``, one line per protocol.

The unit of *proved*, *held* and *refuted* is a pair of a variant and a promise, by what was judged on models. A promise
is what users rely on (`USERS_RELY_ON`: a promise, a promise about steps, or progress). Lemmas, consequences, witnesses
and refinements serve a proof, and are not counted. Each pair is counted once:

- *refuted*: the documents predict that it is violated, and it was;
- *proved*: induction has proved it without bounds, whatever else has looked at it too;
- *held*: it was searched alone, and holds in every state within bounds;
- none of these where a verdict on it is not as expected, or not decided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from fencepost.proofs.results import WHOLE, Result
from fencepost.proofs.scope.matrix import holes, matrix_of
from fencepost.proofs.scope.scopes import USERS_RELY_ON
from fencepost.properties.catalogue import ProtocolEntry


@dataclass(frozen=True)
class Tally:
    """A `Tally` has the counts of one protocol. ``variants`` counts those that were judged, ``unexpected`` the verdicts
    of any engine that are not as expected, ``histories`` the sets of histories that were replayed, and ``driven`` the
    pairs of a variant and an implementation that was driven. ``open`` has the dangers that `fencepost dangers` lists as
    open, ``cached`` counts the verdicts from an earlier run, out of all ``verdicts``, and ``seconds`` is the time of
    the engines when they computed them."""

    name: str
    variants: int
    proved: int
    held: int
    refuted: int
    unexpected: int
    histories: int
    driven: int
    open: frozenset[str]
    verdicts: int
    cached: int
    seconds: float


def tally(entry: ProtocolEntry, results: Sequence[Result]) -> Tally:
    """Return the counts of the verdicts on a protocol."""
    pairs: dict[tuple[str, str], list[Result]] = {}
    for r in results:
        if r.evidence.get("role") in USERS_RELY_ON:
            pairs.setdefault((r.variant, r.property), []).append(r)
    standings = [standing(mine) for mine in pairs.values()]
    main = [variant for variant in entry.variants if variant.main]
    return Tally(
        name=entry.name,
        variants=len(entry.variants),
        proved=standings.count("proved"),
        held=standings.count("held"),
        refuted=standings.count("refuted"),
        unexpected=sum(not r.as_expected for r in results),
        histories=len({(r.protocol, r.variant, r.evidence["histories"]) for r in results if "histories" in r.evidence}),
        driven=len({(r.variant, r.evidence["implementation"]) for r in results if r.engine == "agreement"}),
        open=frozenset(hole.danger for hole in holes(matrix_of(entry, main, results))),
        verdicts=len(results),
        cached=sum(r.cached is not None for r in results),
        seconds=spent(results),
    )


def total(tallies: Sequence[Tally]) -> Tally:
    """Add up the tallies of all protocols. A danger that is open in several protocols is counted once."""
    numbers = [field.name for field in fields(Tally) if field.name not in ("name", "open")]
    sums: dict[str, Any] = {name: sum(getattr(t, name) for t in tallies) for name in numbers}
    return Tally(name="total", open=frozenset[str]().union(*(t.open for t in tallies)), **sums)


def standing(results: Sequence[Result]) -> str:
    """Return how a promise of a variant stands by all engines: ``refuted`` as predicted, ``proved``, ``held``, ``not as
    expected`` or ``not decided``."""
    if not all(r.as_expected for r in results):
        return "not as expected"
    if any(r.verdict == "violated" for r in results):
        return "refuted"
    holding = {r.engine for r in results if r.verdict == "holds"}
    return "proved" if "induction" in holding else "held" if holding else "not decided"


def spent(results: Iterable[Result]) -> float:
    """Return the seconds of the engines, counting each search once and claims of the documents not at all."""
    seconds = 0.0
    searches: dict[tuple[str, str], float] = {}
    for r in results:
        if r.is_claim:
            continue
        if r.engine in WHOLE:
            of = (r.variant, r.engine)
            searches[of] = max(searches.get(of, 0.0), r.seconds)
        else:
            seconds += r.seconds
    return seconds + sum(searches.values())
