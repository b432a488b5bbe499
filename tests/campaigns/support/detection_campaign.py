"""A campaign: every defect with every seed, and many clusters of what is right; it can be stopped and goes on.

Each run that is done is a line of the file of work, with the commit at which it was done and a hash of the code that
did it; what other code did does not count.  What comes of all of them is told as JSON and as a page of Markdown.
"""

import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import detection_runs
from checked_out import changed, code, commit
from detection_runs import EXAMPLES, How, Run
from fencepost.proofs.scale.jobs import Jobs, cores_here

DRIVEN_BY = ("proofs/testing", "proofs/readings", "tests/campaigns/support/detection_runs.py")
LEAST = 0.9
"""Of the seeds, for so many a defect is to be found."""
Line = Mapping[str, Any]


def stamp(run: Run) -> dict[str, str]:
    """At which commit a run is done, and by which code."""
    return {"commit": commit(), "code": code(run.protocol, *DRIVEN_BY)}


def key(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in Run._fields)


def lines(path: Path, since: Collection[str] = ()) -> dict[tuple[Any, ...], Line]:
    """The runs that were done by the present code; ``since``: and at these commits, if nothing was found in what
    is right."""
    read = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()

    def counts(line: Line) -> bool:
        earlier = line["commit"] in since and not line.get("alarms")
        return earlier or line["code"] == stamp(Run(*key(line)))["code"]

    return {key(line): line for line in read if counts(line)}


def work_off(
    path: Path, runs: Sequence[Run], bootstrap: str = "", cores: int | None = None, since: Collection[str] = ()
) -> list[Line]:
    """Do what of the runs is not in the file; all of them, as they come, with an estimate of what is left."""
    there = lines(path, since)
    left = [run for run in runs if run not in there]
    by = f"by this code or at {' or '.join(since)}" if since else "by this code"
    print(f"{len(runs) - len(left)} of {len(runs)} runs are done {by}; {path} has them", flush=True)
    # Brokers are one cluster: runs on them do not go side by side.
    cores = 1 if bootstrap else min(cores or cores_here(), max(1, len(left)))
    reported = _Explained(left, cores)
    with Jobs(len(left), cores) as jobs:
        for handed in [jobs.hand_in(detection_runs.done, run, bootstrap) for run in left]:
            came = handed()
            line = {**stamp(Run(*key(came))), **came}
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            there[key(line)] = line
            reported.over(line)
    return [there[run] for run in runs]


class _Explained:
    """How far it is, and about how long it takes: by what runs of the same sort took."""

    def __init__(self, left: Iterable[Run], cores: int) -> None:
        self.left, self.cores, self.began, self.number = list(left), cores, time.monotonic(), 0
        self.took: dict[tuple[Any, ...], list[float]] = defaultdict(list)

    @staticmethod
    def sort(run: Line | Run) -> tuple[Any, ...]:
        reported = run._asdict() if isinstance(run, Run) else run
        return (
            reported["part"],
            reported["protocol"],
            "" if reported["part"] == "defect" else reported["of"],
            reported["how"],
        )

    def over(self, line: Line) -> None:
        self.number += 1
        self.took[self.sort(line)].append(line["seconds"])
        every = [s for each in self.took.values() for s in each]
        means = {sort: sum(each) / len(each) for sort, each in self.took.items()}
        rest = sum(means.get(self.sort(run), sum(every) / len(every)) for run in self.left[self.number :])
        what = f"{line['part']} {line['protocol']}/{line['of']} seed {line['seed']}"
        came = f"found after {line['found']}" if "found" in line else f"{len(line['alarms'])} alarms"
        print(
            f"{self.number}/{len(self.left)} {what} by {line['how']}: {came}; "
            f"about {rest / self.cores / 60:.0f} min left",
            flush=True,
        )


def reported(done: Sequence[Line]) -> dict[str, Any]:
    """What a campaign says: by defect, way and seed after how many clusters it was found (null: not), and by variant in
    how many clusters nothing was, or what was."""
    rates: dict[str, dict[How, dict[str, int | None]]] = {}
    quiet: dict[str, dict[str, Any]] = {}
    for line in done:
        name = f"{line['protocol']}/{line['of']}"
        if line["part"] == "defect":
            rates.setdefault(name, {}).setdefault(line["how"], {})[str(line["seed"])] = line["found"]
        else:
            name = f"{name} of live brokers" if line["part"] == "live" else name
            one = quiet.setdefault(f"{name} by {line['how']}", {"driven": 0, "alarms": [], "predicted": 0})
            one["driven"] += line["driven"]
            one["alarms"] += line["alarms"]
            one["predicted"] += bool(line.get("predicted"))
    seeds = sorted({line["seed"] for line in done if line["part"] == "defect"})
    runs = Counter(line["commit"] for line in done)
    return {
        "commits": dict(sorted(runs.items())),
        "changed": {at: changed(at, DRIVEN_BY) for at in sorted(runs)} if len(runs) > 1 else {},
        "code": {line["protocol"]: line["code"] for line in done},
        "date": datetime.now(UTC).date().isoformat(),
        "seeds": seeds,
        "clusters": EXAMPLES,
        "defects": rates,
        "quiet": quiet,
    }


def rate(found: Mapping[str, int | None]) -> float:
    """For which share of the seeds it was found."""
    return sum(after is not None for after in found.values()) / len(found)


def wrong(campaign: Mapping[str, Any], least: Mapping[tuple[str, How], float] | None = None) -> list[str]:
    """Alarms, and defects that are found for fewer of the seeds than they should be (default: `LEAST`), or for fewer by
    the model than by what a black box shows."""
    out = [f"{name}: {alarm}" for name, one in campaign["quiet"].items() for alarm in one["alarms"]]
    for name, ways in campaign["defects"].items():
        for how, found in ways.items():
            if rate(found) < (asked := (least or {}).get((name, how), LEAST)):
                out.append(f"{name} by {how}: found for {rate(found):.0%} of the seeds, {asked:.0%} is the least")
        if least is None and "model" in ways and rate(ways["model"]) < rate(ways.get("promises", {"": None})):
            out.append(f"{name}: found for fewer of the seeds by the model than by promises alone")
    return out


def _by_protocol(campaign: Mapping[str, Any]) -> Iterator[str]:
    """A row for each protocol and way."""
    each: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, ways in campaign["defects"].items():
        for how, found in ways.items():
            each[name.partition("/")[0], how].append(rate(found))
    for (protocol, how), rates in sorted(each.items()):
        often = sum(one >= LEAST for one in rates)
        yield f"| {protocol} | {how} | {often} of {len(rates)} | {sum(rates) / len(rates):.1%} |"


def page(campaign: Mapping[str, Any]) -> str:
    """The campaign in Markdown."""
    out = [
        "# What agreement finds, and in how many clusters it finds nothing",
        "",
        f"Made by `tests/campaigns/support/detection.py campaign` at commit {' and '.join(campaign['commits'])} on "
        f"{campaign['date']}, with seeds {_seeds(campaign['seeds'])}.",
        *_not_again(campaign),
        "",
        "Each defect of the reference was looked for with each seed, in as many clusters as `fencepost agree` drives",
        f"by default ({campaign['clusters']}): those that break a promise by promises alone and what a black box "
        "shows, and all of them by the model.",
        "",
        f"| protocol | by | found for {LEAST:.0%} of the seeds or more | of all runs |",
        "|---|---|---|---|",
        *_by_protocol(campaign),
        "",
        "| defect | by | found for | clusters until then: median, most |",
        "|---|---|---|---|",
    ]
    for name, ways in sorted(campaign["defects"].items()):
        for how, found in sorted(ways.items()):
            hits = sorted(after for after in found.values() if after is not None)
            clusters = f"{statistics.median(hits):g}, {hits[-1]}" if hits else ""
            out.append(f"| {name} | {how} | {len(hits)} of {len(found)} seeds | {clusters} |")
    seldom = [
        f"- {name} by {how}{_why(name)}"
        for name, ways in sorted(campaign["defects"].items()) for how, found in sorted(ways.items())
        if rate(found) < LEAST
    ]  # fmt: skip
    if seldom:
        out += ["", f"Found for fewer than {LEAST:.0%} of the seeds, which is less than was asked for:", "", *seldom]
    out += [
        "",
        "The reference was driven as well, and nothing must be found in it; a variant that is predicted to break a "
        "promise is driven until it does.",
        "",
        "| driven | clusters | runs that ended as predicted | alarms |",
    ]
    out.append("|---|---|---|---|")
    for name, one in sorted(campaign["quiet"].items()):
        out.append(f"| {name} | {one['driven']:,} | {one.get('predicted', 0)} | {len(one['alarms'])} |")
    return "\n".join([*out, ""])


def _not_again(campaign: Mapping[str, Any]) -> Iterator[str]:
    """What was not done again after a change, and what was changed."""
    for at, files in campaign["changed"].items():
        if files:
            kept, of_all = campaign["commits"][at], sum(campaign["commits"].values())
            yield ""
            yield f"{kept:,} of {of_all:,} runs are kept from {at}, in which nothing was found in what is right."
            yield "Changed since, of what they depend on:"
            yield f"{', '.join(f'`{name}`' for name in files)}."


def _why(name: str) -> str:
    """What the reference says of a defect that breaks no promise; nothing of the others."""
    protocol, _, defect = name.partition("/")
    why = detection_runs.defects(protocol)[defect].why if protocol in detection_runs.PROTOCOLS else ""
    return f": {why}" if why else ""


def _seeds(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0]) if seeds else "of none"


def write(campaign: Mapping[str, Any], table: Path) -> None:
    """The table as ``.json`` and as ``.md``."""
    table.with_suffix(".json").write_text(json.dumps(campaign, indent=1) + "\n", encoding="utf-8")
    table.with_suffix(".md").write_text(page(campaign), encoding="utf-8")
    print(f"written to {table.with_suffix('.md')}", file=sys.stderr)
