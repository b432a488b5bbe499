"""The campaign of detection rates: for how many seeds, and in how many clusters, agreement finds each defect of the
reference, and that it finds nothing in what is right.

    python tests/script.py tests/campaigns/support/detection.py campaign WORK.jsonl --table proofs/verdicts/detection

``campaign`` looks for every defect with seeds 1 to 10 by the model, and for those that break a promise by promises and
what a black box shows as well; and it drives 10,000 clusters of each variant of the reference, half of them by promises
alone, in which nothing must be found; with ``--bootstrap`` also 2,000 of live brokers, of the variants that are named.
It takes hours, says how many, and goes on where it was stopped as long as the code is the same. ``--only defects``,
``quiet`` or ``live`` is a part of it. After a change that few runs can meet ``--since COMMIT`` takes the others of that
commit as they are, and the table says so, and what was changed. It exits with 1 on any alarm, and where a defect is
found for fewer than nine of ten seeds, or for fewer by the model than by promises.
"""

import argparse
import sys
from pathlib import Path

import detection_campaign
import detection_runs
from detection_runs import PROTOCOLS

CLUSTERS, LIVE_CLUSTERS = 10_000, 2_000
"""Of a variant of the reference, and of live brokers, in which nothing must be found."""


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
    found = detection_campaign.reported(done)
    if given.table:
        detection_campaign.write(found, given.table)
    worse = detection_campaign.wrong(found)
    print("\n".join(worse) or "every defect is found often enough, and nothing in what is right")
    return 1 if worse else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
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
    given = parser.parse_args()
    return campaign(given)


if __name__ == "__main__":
    sys.exit(main())
