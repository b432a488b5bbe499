"""The whole system in great number: as it is nothing may be violated, and each rule broken must be noticed.

    python tests/script.py tests/campaigns/support/whole_campaign.py clear FILE [--events 100000000] [--cores 1]
    python tests/script.py tests/campaigns/support/whole_campaign.py broken FILE [--events 5000000] [--cores 1] \\
        [DEFECT...]
    python tests/script.py tests/campaigns/support/whole_campaign.py page FILE FILE proofs/verdicts/whole.md

The files are `proofs/verdicts/whole.json` and `proofs/verdicts/whole-defects.json`.

`clear` generates and replays so many events, of all vocabularies together, in batches of histories with a seed each,
against every history property and every model of each protocol.  FILE keeps what is done: a run that was stopped goes
on where it was as long as the code that generates and judges is the same, and a finished one says the commits, the
seeds, the dates, and how often there was something to judge for each property.

`broken` does the same with the defects of each rule switched on, one after the other, until one is noticed by a promise
that necessity names or there were so many events of each; then, of each that was, the smallest history that shows it.
`page` writes what both have kept as Markdown.
Exit code 1 if anything is violated that is right, a property had nothing to judge, or no defect of a rule is noticed by
a promise that necessity names.
"""

import argparse
import json
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import whole_defects
import whole_page
from checked_out import commit
from fencepost.proofs.necessity.tables import digest_of
from fencepost.proofs.scale.jobs import Jobs
from fencepost.properties.catalogue import protocols
from fencepost.reference_impl.simulation.defects import Breaks
from whole_batches import batch, own_code

EACH = 5_000_000
BUDGETS = (250_000, 1_000_000)
"""Events of each defect before those are searched for longer that were not noticed: most are within the first."""
EVENTS = 100_000_000


def total(kept: Mapping[str, Any]) -> int:
    """The events of all batches."""
    return sum(sum(one["events"].values()) for one in kept["batches"])


T, S = TypeVar("T"), TypeVar("S")


def side_by_side(
    work: Callable[..., T], given: Iterable[S], cores: int, words: Callable[[S], tuple[Any, ...]] = lambda one: (one,)
) -> Iterator[tuple[S, T]]:
    """The results, in the order of what is given; so many processes at a time.  ``words``: what `work` is called
    with."""
    with Jobs(cores, cores) as jobs:
        under_way: deque[tuple[S, Callable[[], T]]] = deque()
        for one in given:
            under_way.append((one, jobs.hand_in(work, *words(one))))
            if len(under_way) >= cores:
                reported, result = under_way.popleft()
                yield reported, result()
        for reported, result in under_way:
            yield reported, result()


def clear(place: Path, wanted: int, cores: int) -> int:
    """Batch after batch of the system as it is."""
    kept = json.loads(place.read_text()) if place.exists() else {"batches": []}
    kept["batches"] = [one for one in kept["batches"] if one["code"] == own_code()]
    kept["summary"] = summary(kept)
    began, before = time.monotonic(), total(kept)
    done = {one["seed"] for one in kept["batches"]}
    seeds = (seed for seed in count(1) if seed not in done)
    results = side_by_side(batch, seeds, cores)
    while total(kept) < wanted:
        seed, found = next(results)
        kept["batches"].append({"commit": commit(), "code": own_code(), "date": today(), **found})
        kept["summary"] = summary(kept)
        written(place, kept)
        rate = (total(kept) - before) / (time.monotonic() - began)
        print(
            f"seed {seed}: {found['violations'] or 'nothing violated'}; {total(kept):,} events, "
            f"about {(wanted - total(kept)) / rate / 60:.0f} min left",
            flush=True,
        )
    results.close()
    return int(bool(kept["summary"]["violations"] or kept["summary"]["never_judged"]))


def written(place: Path, kept: Mapping[str, Any]) -> None:
    """Whole, or as it was before, whenever a run is stopped."""
    draft = place.with_suffix(".draft")
    draft.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    draft.replace(place)


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def summary(kept: Mapping[str, Any]) -> dict[str, Any]:
    """All batches together."""
    events, faults, judged = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    undecided = Counter[str]()
    for one in kept["batches"]:
        events.update(one["events"])
        faults.update(one["faults"])
        for name, counts in one["judged"].items():
            judged.setdefault(name, Counter()).update(counts)
        for name, checks in one["undecided"].items():
            for reasons in checks.values():
                undecided[name] += sum(reasons.values())
    unsaid = {name: undecidable(name) for name in judged}
    return {
        "events": total(kept), "by_vocabulary": dict(events),
        "histories": sum(one["histories"] for one in kept["batches"]),
        "violations": {n: reported for one in kept["batches"] for n, reported in one["violations"].items()},
        "judged": {name: {n: c for n, c in cs.items() if n not in unsaid[name]} for name, cs in judged.items()},
        "never_judged": [
            f"{name}: {n}" for name, cs in judged.items() for n, c in cs.items() if not c and n not in unsaid[name]
        ],
        "not_decidable_here": {name: sorted(names) for name, names in unsaid.items() if names},
        "undecided": dict(undecided),
        "faults": dict(sorted(faults.items())),
    }  # fmt: skip


def undecidable(protocol: str) -> frozenset[str]:
    """The history properties that what is told in the words of a protocol says nothing of."""
    return protocols()["end-to-end"].undecided.get(protocol, frozenset())


def broken(place: Path, most: int, cores: int, names: Sequence[str]) -> int:
    """Rule after rule, few events of each first, then more of those that were not noticed.  What is kept of a defect
    counts while the code is the same."""
    kept = json.loads(place.read_text()) if place.exists() else {"defects": [], "further": {}}
    asked = whole_defects.chosen(list(names))
    codes = {name: whole_defects.code_of(name) for name in whole_defects.REGISTRY}
    done = {one["defect"]: one for one in kept["defects"] if one["code"] == codes.get(one["defect"])}
    models = digest_of(list(protocols().values()))
    further = {rule: one["promises"] for rule, one in kept.get("further", {}).items() if one["models"] == models}

    def write() -> None:
        reported = {rule: {"models": models, "promises": found} for rule, found in further.items()}
        written(place, {"defects": list(done.values()), "further": reported})

    for events in (*(tried for tried in BUDGETS if tried < most), most):
        left = [
            one for one in asked
            if not any(name in done and whole_defects.is_found(done[name]) for name in one.defects)
            and any(done.get(name, {"events": 0})["events"] < events for name in one.defects)
        ]  # fmt: skip
        words = partial(given_to, events=events, done=dict(done), further=dict(further))
        for number, (one, result) in enumerate(side_by_side(whole_defects.of_rule, left, cores, words), 1):
            for name, found in result["defects"].items():
                if found != done.get(name):
                    done[name] = {**found, "commit": commit(), "code": codes[name], "date": today()}
            if result["further"] is not None:
                further[one.rule] = result["further"]
            write()
            print(f"{events:,} events: {number}/{len(left)} {one.rule}: {reported(result['defects'])}", flush=True)
    observed = [one for one in done.values() if whole_defects.is_found(one) and "smallest" not in one]
    for one, least in side_by_side(whole_defects.smallest, observed, cores):
        done[one["defect"]] = {**one, "smallest": least}
        write()
        print(f"{one['defect']}: {least.get('events', 'no')} events are enough", flush=True)
    missed = sorted({o.rule for o in asked} - {one["rule"] for one in done.values() if whole_defects.is_found(one)})
    alarms = [n for n, one in done.items() if one["breaks"] == "nothing" and one["first"]]
    print(f"not noticed: {', '.join(missed) or 'none'}; controls with an alarm: {', '.join(alarms) or 'none'}")
    return int(bool(missed or alarms))


def given_to(
    one: whole_defects.Sought, events: int, done: Mapping[str, Any], further: Mapping[str, Any]
) -> tuple[Any, ...]:
    """What `of_rule` is called with."""
    return one, events, {name: done[name] for name in one.defects if name in done}, further.get(one.rule)


def reported(found: Mapping[str, Mapping[str, Any]]) -> str:
    """What came of the defects of a rule, in words."""
    for name, one in found.items():
        if whole_defects.is_found(one):
            reported = one["named"] or one["first"]
            return f"{name}: {reported['property']} after {reported['events']:,} events"
    others = sorted({broken for one in found.values() for broken in one["violated"]})
    return f"{', '.join(found)}: {', '.join(others) or 'nothing'}"


def is_breaking(name: str) -> bool:
    return whole_defects.REGISTRY.find(name).breaks is Breaks.PROMISE


def main() -> int:
    asked = argparse.ArgumentParser(description="The whole system in great number.")
    whats = asked.add_subparsers(dest="what", required=True)
    for what, most in (("clear", EVENTS), ("broken", EACH)):
        one = whats.add_parser(what)
        one.add_argument("file", type=Path)
        one.add_argument("--events", type=int, default=most)
        one.add_argument("--cores", type=int, default=1)
        if what == "broken":
            one.add_argument("defects", nargs="*")
    paged = whats.add_parser("page")
    paged.add_argument("files", type=Path, nargs=3, metavar="FILE")
    reported = asked.parse_args()
    if reported.what == "clear":
        return clear(reported.file, reported.events, reported.cores)
    if reported.what == "broken":
        return broken(reported.file, reported.events, reported.cores, reported.defects)
    kept, done = (json.loads(place.read_text()) for place in reported.files[:2])
    chosen = {n: one.rule for one in whole_defects.chosen([]) for n in one.defects if is_breaking(n)}
    report = whole_page.page(kept, done["defects"], whole_defects.named(), chosen)
    reported.files[2].write_text(report, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
