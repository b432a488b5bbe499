"""Real clusters of Kafka Connect, driven with generated programs for hours: what was found, and in how many programs
nothing was.

    python tests/script.py tests/campaigns/support/connect_campaign.py run FILE task-counts/shipped \\
        [--release 4.4.0] [--programs 300] [--minutes 480] [--first 1]
    python tests/script.py tests/campaigns/support/connect_campaign.py page FILE proofs/verdicts/connect.md

FILE (`proofs/verdicts/connect.json`) keeps what is done, a row for each seed, with `PART` programs: a run that was
stopped goes on where it was as long as the code is the same, and begins no further seed after so many minutes. A
program ends with what a finding says of the release; anything else is an alarm, and is tried again. Exit code 1 if
there is any in FILE that failed again.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from campaign_rows import Row, by_seed, loads, read_rows, seeds, total
from checked_out import code
from driven_connect import LACKS, LiveSearch
from fencepost.proofs.connection_errors import wire_errors
from fencepost.proofs.report import write_text
from fencepost.proofs.scope.findings import FINDINGS
from fencepost.proofs.testing.on_reference import printed
from fencepost.proofs.testing.search import BetweenError, Failure
from fencepost.properties.conformance_spec import DRIVEN, on_a_cluster
from fencepost.reference_impl.live.connect.cluster import ClusterError
from fencepost.reference_impl.live.connect.driven import end
from fencepost.reference_impl.live.connect.install import BROKERS

PART = 5
"""Programs of one seed, unless an alarm ends them earlier."""
DRIVEN_BY = ("proofs/testing", "proofs/recording", "tests/live/connect/support/driven_connect.py")
WANTED = {("task-counts/shipped", "4.4.0"): 300}
"""So many programs are to be driven without an alarm."""
HEAD = f"""# Real clusters of Kafka Connect, driven with generated programs

Made by `tests/campaigns/support/connect_campaign.py page`. Each program is one that `fencepost agree … --connect`
generates: it is held against the promises while it runs, and of task counts what is recorded of it against all history
properties and the model. A program ends with the first thing that is found, and the next one begins. *Findings* are
rows of [findings](findings.md), each with the number of programs that ended with it; that "{LACKS}"
when its own topic is taken away is none, and its model repeats records as well. An *alarm* is anything else that breaks
a promise, and does when the program is run again; *not again* is what does not, and a program whose cluster did not
come to rest. *Cut off* are seeds whose driver or cluster failed. One broker; operations are requests and calls that
the driver released; the load is the machine's. Where seeds do not begin with 1, the first was chosen, so that the
number of programs says nothing of how often that happens. *Not as the model* are recordings that it could not follow.
Of the four with a claim while a round was CHECKED, seed 506 was recorded anew: a refused count without the connector's
name came before, and the code since follows it; the others were not recorded anew. Seeds 302, 401, 402, 410 and 501 had
ended with alarms that were mistakes of the recorder and the driver, and their rows are of the mended code.
"""


def part(of: str, release: str, seed: int, programs: int = PART) -> dict[str, Any]:
    """What came of so many programs of one seed."""
    protocol, _, variant = of.partition("/")
    known = {each.name for each in FINDINGS if release in each.seen} | {LACKS}
    search, cut = LiveSearch(protocol, variant, {"release": release}, known), ""
    try:
        search.search(seed, programs, search.agreeing.steps, None)
        failures = [_again(search, failure) for failure in search.failures]
        failures += [_described(search, failure, *failure.again) for failure in search.undecided]
    except (ClusterError, BetweenError, TimeoutError, *wire_errors()) as error:
        if not search.exercised.runs:
            raise
        found = [*search.failures, *search.undecided]
        cut, failures = f"{type(error).__name__}: {error}", [_described(search, each, *each.again) for each in found]
        end()
    return {
        "programs": search.exercised.runs, "operations": search.count["operations"], "found": dict(search.known),
        "texts": search.texts, "failures": failures, "differs": search.not_allowed,
        "left": dict(search.coverage.beyond), "cut": cut,
    }  # fmt: skip


def _again(search: LiveSearch, failure: Failure) -> dict[str, Any]:
    tries = search.agreeing.tries
    again = [search.replay(failure.program, only=failure.disagreed.promises or None) for _ in range(tries)]
    failed = sum(each is not None and not each.disagreed.is_undecided for each in again)
    return _described(search, failure, failed, tries)


def _described(search: LiveSearch, failure: Failure, again: int, tries: int) -> dict[str, Any]:
    agreeing, disagreed = search.agreeing, failure.disagreed
    program = printed(
        agreeing, agreeing.implementation, failure.program.config, failure.made, disagreed, search.observed
    )
    return {
        "says": "; ".join(map(str, (disagreed, *disagreed.conjuncts))), "program": program.text,
        "tries": tries, "again": again,
    }  # fmt: skip


def run(place: Path, of: str, release: str, programs: int, minutes: float, first: int = 1) -> int:
    """Seed after seed, from the first on, until so many programs are done by this code, or the time is over."""
    own, same = code(of.partition("/")[0], *DRIVEN_BY), {"of": of, "release": release}

    def left(done: Sequence[Row]) -> int:
        return programs - total(done, "programs")

    def driven(seed: int, done: Sequence[Row]) -> dict[str, Any] | None:
        return part(of, release, seed, min(PART, left(done))) if left(done) > 0 else None

    try:
        for row in by_seed(place, same, own, first, minutes, driven):
            done = f"{row['programs']} programs in {row['seconds']} s"
            print(f"{of} on {release}, seed {row['seed']}: {done}, {found(row)}", flush=True)
    finally:
        end()
    return int(any(each["again"] for row in read_rows(place) for each in row["failures"]))


def _order(row: Row) -> tuple[Any, ...]:
    return row["of"], row["release"], row["commit"], row["seed"]


def found(row: Row) -> str:
    """What came of a seed, in words."""
    words = [f"{name} ({times})" for name, times in row["found"].items()]
    words += [f"alarm, {each['again']} of {each['tries']} times again: {each['says']}" for each in row["failures"]]
    return "; ".join([*words, *filter(None, (row["cut"],))]) or "nothing"


def page(rows: Sequence[Row]) -> str:
    """The rows as Markdown: one line for each variant, release and commit, and what was found."""
    lines = [
        HEAD, "| driven | release | commit, date | seeds | programs | operations | hours | load "
        "| programs that ended with a finding | alarms | not again | cut off | not as the model |", "|" + "---|" * 13,
    ]  # fmt: skip
    further = list[str]()
    for (of, release, at), each in groupby(sorted(rows, key=_order), key=lambda row: _order(row)[:3]):
        mine = list(each)
        failures = [failure for row in mine for failure in row["failures"]]
        names = sorted({name for row in mine for name in row["found"]})
        ended = "; ".join(f"{name}: {sum(row['found'].get(name, 0) for row in mine)}" for name in names) or "none"
        again = sum(failure["again"] > 0 for failure in failures)
        lines.append(
            f"| {of} | {release} | {at}, {max(row['date'] for row in mine)} | {seeds(mine)} "
            f"| {total(mine, 'programs'):,} | {total(mine, 'operations'):,} "
            f"| {total(mine, 'seconds') / 3_600:.1f} | {loads(mine)} | {ended} | {again} "
            f"| {len(failures) - again} | {sum(bool(row['cut']) for row in mine)} "
            f"| {sum(len(row['differs']) for row in mine)} |"
        )
        further += _further(f"{of} on {release}, {at}", mine)
    return "\n".join([*lines, "", *_not_driven(rows), *further, ""])


def _not_driven(rows: Sequence[Row]) -> Iterator[str]:
    """What was asked for, and what can be driven and was not."""
    for (of, release), programs in WANTED.items():
        driven = sum(row["programs"] for row in rows if (row["of"], row["release"]) == (of, release))
        yield f"Of {programs} programs of {of} that are asked for on {release}, {driven} were driven."
    there = {row["of"] for row in rows}
    each = [(protocol, on_a_cluster(protocol)) for protocol in DRIVEN]
    every = [f"{protocol}/{variant}" for protocol, of in each if of is not None for variant in of.variants]
    yield f"Not driven on any release: {', '.join(of for of in every if of not in there) or 'none'}."


def _further(where: str, rows: Sequence[Row]) -> Iterator[str]:
    """What was found in words, once each, and the programs of what is no finding."""
    texts = {name: (text, row["seed"]) for row in reversed(rows) for name, text in row["texts"].items()}
    lines = [f"- {name}, first with seed {seed}: {text}" for name, (text, seed) in sorted(texts.items())]
    for row in rows:
        lines += [f"- Seed {row['seed']} was cut off: {row['cut']}"] if row["cut"] else []
        lines += [f"- Other than the model, seed {row['seed']}: {each}" for each in row["differs"]]
        for each in row["failures"]:
            lines += [f"- Seed {row['seed']}, {each['again']} of {each['tries']} times again: {each['says']}", ""]
            lines += ["  ```text", *(f"  {line}" for line in each["program"].splitlines()), "  ```"]
    if lines:
        yield from ("", f"## {where}", "", *lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("file", type=Path)
    running.add_argument("of", metavar="PROTOCOL/VARIANT")
    running.add_argument("--release", default=BROKERS)
    running.add_argument("--programs", type=int, default=300)
    running.add_argument("--first", type=int, default=1, help="seed")
    running.add_argument("--minutes", type=float, default=480)
    paging = commands.add_parser("page")
    paging.add_argument("file", type=Path)
    paging.add_argument("page", type=Path)
    given = parser.parse_args()
    if given.command == "page":
        write_text(given.page, page(read_rows(given.file)))
        return 0
    return run(given.file, given.of, given.release, given.programs, given.minutes, given.first)


if __name__ == "__main__":
    raise SystemExit(main())
