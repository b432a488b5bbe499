"""Detection rates: in how many clusters agreement finds each defect of the reference, by seed; and the campaign of
which they are a part.

    python tests/script.py tests/campaigns/support/detection.py campaign WORK.jsonl --table proofs/verdicts/detection
    python tests/script.py tests/campaigns/support/detection.py measure RATES.jsonl --seeds 1-10 \\
        [--by promises] [--protocol NAME]
    python tests/script.py tests/campaigns/support/detection.py compare BEFORE.jsonl AFTER.jsonl

``campaign`` looks for every defect with seeds 1 to 10 by the model, and for those that break a promise by promises and
what a black box shows as well; and it drives 10,000 clusters of each variant of the reference, half of them by promises
alone, in which nothing must be found; with ``--bootstrap`` also 2,000 of live brokers, of the variants that are named.
It takes hours, says how many, and goes on where it was stopped as long as the code is the same. ``--only defects``,
``quiet`` or ``live`` is a part of it. After a change that few runs can meet ``--since COMMIT`` takes the others of that
commit as they are, and the table says so, and what was changed. It exits with 1 on any alarm, and where a defect is
found for fewer than nine of ten seeds, or for fewer by the model than by promises.

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
from pathlib import Path

import detection_campaign
import detection_runs
from detection_runs import EXAMPLES, PROTOCOLS, How, defects, found_after

SEEDS_LESS, UP = 2, 1.1
"""For so many seeds less may a defect be found, and by this factor may the sum of the medians go up."""
CLUSTERS, LIVE_CLUSTERS = 10_000, 2_000
"""Of a variant of the reference, and of live brokers, in which nothing must be found."""


def lines(path: Path) -> dict[tuple[str, str, int], int | None]:
    """What a file of rates says, by protocol, defect and seed."""
    read = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return {(r["protocol"], r["defect"], r["seed"]): r["found"] for r in read}


def measure(path: Path, seeds: range, protocols: list[str], how: How) -> None:
    """Appends what the file lacks, seed by seed."""
    done = lines(path)
    asked = [(p, name, one, seed) for seed in seeds for p in protocols for name, one in defects(p).items()]
    left = [a for a in asked if (a[0], a[1], a[3]) not in done]
    began = time.monotonic()
    for number, (protocol, name, one, seed) in enumerate(left, 1):
        found = found_after(protocol, one, seed, how)
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


def seeds_of(words: str) -> range:
    """From "first-last"."""
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def campaign(given: argparse.Namespace) -> int:
    """All of it, or the part that is asked for."""
    seeds, protocols = seeds_of(given.seeds), given.protocol or PROTOCOLS
    runs = detection_runs.looked_for(seeds, protocols) if given.only in (None, "defects") else []
    runs += detection_runs.quiet(seeds[0], given.clusters, protocols) if given.only in (None, "quiet") else []
    done = detection_campaign.work_off(given.work, runs, cores=given.cores, since=given.since)
    if given.bootstrap and given.only in (None, "live"):
        if not given.variant:
            raise SystemExit("--bootstrap: name the variants that these brokers have, as in --variant v2")
        asked = detection_runs.live(seeds[0], given.live_clusters, protocols, given.variant)
        done += detection_campaign.work_off(given.work, asked, given.bootstrap, since=given.since)
    found = detection_campaign.told(done)
    if given.table:
        detection_campaign.write(found, given.table)
    worse = detection_campaign.wrong(found)
    print("\n".join(worse) or "every defect is found often enough, and nothing in what is right")
    return 1 if worse else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("out", type=Path)
    one.add_argument("--seeds", default="1-10", help="first-last")
    one.add_argument("--protocol", action="append", choices=PROTOCOLS)
    one.add_argument("--by", choices=["model", "promises"], default="model", help="promises: seen from outside")
    whole = commands.add_parser("campaign")
    whole.add_argument("work", type=Path, help="has a line for each run that is done")
    whole.add_argument("--seeds", default="1-10", help="first-last")
    whole.add_argument("--clusters", type=int, default=CLUSTERS, help="of each variant of the reference")
    whole.add_argument("--live-clusters", type=int, default=LIVE_CLUSTERS)
    whole.add_argument("--bootstrap", default="", help="of brokers that are driven as well")
    whole.add_argument("--variant", action="append", default=[], help="of those brokers, may be repeated")
    whole.add_argument("--only", choices=["defects", "quiet", "live"])
    whole.add_argument("--protocol", action="append", choices=PROTOCOLS)
    whole.add_argument("--cores", type=int)
    whole.add_argument(
        "--since",
        action="append",
        default=[],
        metavar="COMMIT",
        help="its runs count that found nothing where all is right",
    )
    whole.add_argument("--table", type=Path, help="is written as .md and .json")
    two = commands.add_parser("compare")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.out, seeds_of(given.seeds), given.protocol or PROTOCOLS, given.by)
        return 0
    if given.command == "campaign":
        return campaign(given)
    worse = list(compared(given.before, given.after))
    print("\n".join(worse) or "nothing is worse than allowed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
