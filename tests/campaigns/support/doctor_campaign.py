"""`fencepost doctor` on live clusters under faults: what it calls wrong and is not, and what it does not find.

    python tests/script.py tests/campaigns/support/doctor_campaign.py run FILE --release R \\
        [--clusters 250] [--programs 3] [--minutes 480] [--first 1] [--keep DIR]
    python tests/script.py tests/campaigns/support/doctor_campaign.py hanging proofs/verdicts/find-hanging.json
    python tests/script.py tests/campaigns/support/doctor_campaign.py page FILE proofs/verdicts/doctor.md

FILE (`proofs/verdicts/doctor.json`) keeps a row for each seed, which is a fresh cluster with so many programs: a run
that was stopped goes on where it was as long as the code is the same. A cluster with an alarm is run again. Exit code 1
if there is an alarm in FILE that came again, or something planted that was not found. `hanging` computes the comparison
with Kafka's find-hanging, which the page takes from its file.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from campaign_rows import Row, by_seed, loads, read_rows, seeds, total
from checked_out import code
from doctor_runs import PLANTS, one_cluster
from fencepost.proofs.doctor.defects import ABORTED, LATE_MARKER, LOST, NAMED, SILENT, UNDECIDED
from fencepost.proofs.doctor.find_hanging import as_dict, sections
from fencepost.proofs.doctor.find_hanging import rows as hanging_rows
from fencepost.proofs.report import write_json, write_text
from fencepost.proofs.scope.findings import FINDINGS
from fencepost.reference_impl.live.clusters.kafka import archive_classes, fetch_kafka

HANGING = Path(__file__).parents[3] / "proofs" / "verdicts" / "find-hanging.json"
TRIES = 2
"""A cluster with an alarm is run so many times more."""
ARCHIVED = 10
RELEASES = {"3.9.2": 250, "4.0.0": 250, "4.3.1": 250, "4.4.0": 250}
"""So many clusters of each are asked for."""
DRIVEN_BY = ("proofs/doctor", "proofs/recording", "tests/campaigns/support/doctor_driver.py",
             "tests/campaigns/support/doctor_runs.py", "tests/live/kafka")  # fmt: skip
HEAD = """# The doctor on live clusters under faults

Made by `tests/campaigns/support/doctor_campaign.py page`. Each cluster is a fresh one, of one node or of three. On it
seeded programs of raw requests are driven: clients of both kinds write, commit and abort under up to four transactional
ids that share a topic; requests are repeated, doubled at once and late; fenced instances go on; transactions time out;
nodes are paused, restarted and killed, also while a batch or an EndTxn is under way, and between a decision and its
markers; what did come of this is counted below. After each program `fencepost doctor` is asked over the network and of
the directories, which have to agree.
An *alarm* is what it calls wrong, or open, and the driver's own record and a plain reader do not, or the other way
round; a cluster with one is run again, and once more with the code in which its cause was mended, of which the row then
is. *Other* are records that a reader sees otherwise than their producer was
answered. *Planted* are clusters on which one defect is caused on purpose at the end, and on how many the doctor then
found that. *Cut off* are clusters that failed, or did not answer in time. The load is the machine's.
"""
FOUR = "tests/live/kafka/test_live_doctor.py::test_four_are_distinguished_on_three_nodes"
CORNERS = "tests/live/kafka/corners/test_corners_doctor.py::test_what_a_program_leaves_is_named[4.0, v2]"
LIVE = {
    LOST: f"{FOUR}[commit]", ABORTED: f"{FOUR}[abort]",
    **dict.fromkeys((LATE_MARKER, "rotation lost over a fail-over", "a fence takes two epochs"), CORNERS),
}  # fmt: skip
"""The findings whose own programs are run on live brokers before the doctor is asked, by test."""
WRITTEN = "tests/proofs/doctor/test_doctor_findings.py::test_it_is_named"


def jars_of(release: str, clusters: int) -> Path:
    """Return the release's jars, fetched once a machine; with an archive of the classes that a node loads where there
    are so many clusters that it pays."""
    folder = Path(tempfile.gettempdir()) / "fencepost-kafka" / release
    fetch_kafka(folder, release=release)
    if clusters >= ARCHIVED:
        with tempfile.TemporaryDirectory() as scratch:
            archive_classes(folder, Path(scratch) / "archive")
    return folder


def part(jars: Path, release: str, seed: int, programs: int, keep: Path | None = None) -> dict[str, Any]:
    """What came of the cluster of a seed, and whether an alarm comes again."""
    first = one_cluster(jars, release, seed, programs, keep).as_dict()
    tries = TRIES if first["alarms"] else 0
    again = [one_cluster(jars, release, seed, programs, keep).alarms for _ in range(tries)]
    return {**first, "tries": tries, "again": sum(map(bool, again))}


def run(place: Path, release: str, clusters: int, programs: int, minutes: float, first: int, keep: Path | None) -> int:
    """Seed after seed, from the first on, until so many clusters are done by this code, or the time is over."""
    jars, own = jars_of(release, clusters), code("transactions", *DRIVEN_BY)

    def driven(seed: int, done: Sequence[Row]) -> dict[str, Any] | None:
        return part(jars, release, seed, programs, keep) if len(done) < clusters else None

    for row in by_seed(place, {"release": release}, own, first, minutes, driven):
        print(
            f"{release}, seed {row['seed']}: {row['programs']} programs in {row['seconds']} s, {came(row)}", flush=True
        )
    return int(any(row["again"] or not _is_found(row) for row in read_rows(place)))


def came(row: Row) -> str:
    """What came of a cluster, in words."""
    words = [f"{row['again']} of {row['tries']} times again: {each}" for each in row["alarms"]]
    words += [f"planted {row['planted']}: found {', '.join(row['found']) or 'nothing'}"] if row["planted"] else []
    return "; ".join([*words, *row["other"], *filter(None, (row["cut"],))]) or "nothing"


def _is_found(row: Row) -> bool:
    return not row["planted"] or bool(row["cut"]) or PLANTS[row["planted"]].kind in row["found"]


def page(rows: Sequence[Row]) -> str:
    """The rows as Markdown: a line for each release and commit, then what the runs exercised, and each alarm."""
    columns = ("release", "commit, date", "seeds", "clusters", "of three nodes", "programs", "asked",
               "decided records", "hours", "load", "alarms", "not again", "other", "planted, found", "undecided",
               "cut off")  # fmt: skip
    lines = [HEAD, f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for (release, at), each in groupby(rows, key=lambda row: (row["release"], row["commit"])):
        mine = list(each)
        alarms = [row for row in mine if row["alarms"]]
        again = sum(row["again"] > 0 for row in alarms)
        planted = [row for row in mine if row["planted"] and not row["cut"]]
        lines.append(
            f"| {release} | {at}, {max(row['date'] for row in mine)} | {seeds(mine)} | {len(mine)} "
            f"| {sum(row['nodes'] > 1 for row in mine)} | {total(mine, 'programs'):,} | {2 * total(mine, 'asked'):,} "
            f"| {total(mine, 'decided'):,} | {total(mine, 'seconds') / 3_600:.1f} | {loads(mine)} | {again} "
            f"| {len(alarms) - again} | {sum(len(row['other']) for row in mine)} "
            f"| {len(planted)}, {sum(map(_is_found, planted))} | {sum(bool(row['undecided']) for row in mine)} "
            f"| {sum(bool(row['cut']) for row in mine)} |"
        )
    done = Counter(row["release"] for row in rows)
    asked = ", ".join(f"{done[release]} of {wanted} on {release}" for release, wanted in RELEASES.items())
    return "\n".join([*lines, "", f"Clusters of those that are asked for: {asked}.", "", *_exercised(rows),
                      *_further(rows), *_findings(), "", *sections(read_rows(HANGING)), ""])  # fmt: skip


def _findings() -> Iterator[str]:
    """Each finding: by which kinds it is named, or why not."""
    yield from ("## Findings, by what logs have of them", "", f"Of {len(FINDINGS)} [findings](findings.md)")
    yield f"{len(NAMED)} are named, each on the releases that have it; {len(SILENT)} leave no trace of their own in"
    yield f"logs; of {len(UNDECIDED)} it is not decided. *Live*: their own programs ran on brokers before it was asked."
    yield f"*Written*: logs with the records that their programs leave were written (`{WRITTEN}`)."
    yield from ("", "| finding | | how, or why not |", "|---|---|---|")
    for each in FINDINGS:
        if each.name in NAMED:
            kinds = ", ".join(f"`{kind}`" + (f" ({only})" if only else "") for kind, only in NAMED[each.name].items())
            how = f"live (`{LIVE[each.name]}`) and written" if each.name in LIVE else "written"
            yield f"| {each.name} | named | {kinds}; {how} |"
        elif each.name in SILENT:
            yield f"| {each.name} | no trace | {SILENT[each.name]} |"
        else:
            yield f"| {each.name} | not decided | {UNDECIDED[each.name]} |"


def _exercised(rows: Sequence[Row]) -> Iterator[str]:
    """How often each thing happened, by release."""
    yield from ("## What the programs did", "", "Requests are counted by their answers; `state` is what the")
    yield from (
        "coordinator says in between, and *doctor* what it found, which is not wrong where there is no alarm.",
        "",
    )
    releases = sorted({row["release"] for row in rows})
    yield f"| | {' | '.join(releases)} |"
    yield "|---" * (1 + len(releases)) + "|"
    met: dict[str, Counter[str]] = {release: Counter() for release in releases}
    for row in rows:
        met[row["release"]].update(row["met"])
        met[row["release"]].update({f"*doctor*: {kind}": times for kind, times in row["kinds"].items()})
    for name in sorted(set().union(*met.values())):
        yield f"| {name} | {' | '.join(f'{met[release][name]:,}' for release in releases)} |"
    yield ""


def _further(rows: Sequence[Row]) -> Iterator[str]:
    """Each alarm, and what else is worth a line."""
    found = [
        f"- {row['release']}, seed {row['seed']}: {came(row)}"
        for row in rows if row["alarms"] or row["other"] or row["cut"] or not _is_found(row)
    ]  # fmt: skip
    found += [f"- {row['release']}, seed {row['seed']}, undecided: {each}" for row in rows for each in row["undecided"]]
    if found:
        yield from ("## Alarms, and what was cut off", "", *found, "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("file", type=Path)
    running.add_argument("--release", default="4.4.0")
    running.add_argument("--clusters", type=int, default=250)
    running.add_argument("--programs", type=int, default=3)
    running.add_argument("--minutes", type=float, default=480)
    running.add_argument("--first", type=int, default=1, help="seed")
    running.add_argument("--keep", type=Path, help="leave the directories of clusters with an alarm here")
    hanging = commands.add_parser("hanging")
    hanging.add_argument("file", type=Path)
    paging = commands.add_parser("page")
    paging.add_argument("file", type=Path)
    paging.add_argument("page", type=Path)
    given = parser.parse_args()
    if given.command == "hanging":
        write_json(given.file, [as_dict(row) for row in hanging_rows()])
        return 0
    if given.command == "page":
        write_text(given.page, page(read_rows(given.file)))
        return 0
    return run(given.file, given.release, given.clusters, given.programs, given.minutes, given.first, given.keep)


if __name__ == "__main__":
    raise SystemExit(main())
