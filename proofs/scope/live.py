"""Live: how often the dangers were met in runs of agreement against real brokers.

Such a run needs brokers and minutes, so that its counts are stored, in ``verdicts/live.json``: which test made it, of
which release, how many sequences it drove, and what they met.  The tests of live brokers write it anew when they are
given ``--keep-live FILE``; nothing else does, and a danger that is not counted there is out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fencepost.proofs.testing import AgreementReport

FILE = Path(__file__).parents[1] / "verdicts" / "live.json"


@dataclass(frozen=True)
class LiveRun:
    """One run that found nothing to hold against the brokers.  ``test``: what makes it again."""

    protocol: str
    variant: str
    brokers: str
    test: str
    seed: int
    examples: int
    dangers: Mapping[str, int]


def run_of(report: AgreementReport, brokers: str, test: str) -> LiveRun:
    """The entry that is stored of a report.  ValueError for one that fails, or follows no model: it judges no promise
    by it."""
    if report.verdict != "holds" or report.model == "none":
        raise ValueError(f"{test}: {report.verdict}, held against model {report.model}: nothing of that is kept")
    met = dict(sorted(report.dangers.items()))
    return LiveRun(report.protocol, report.variant, brokers, test, report.seed, report.examples, met)


def write(file: Path, runs: Sequence[LiveRun]) -> None:
    file.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")


def runs_of(protocol: str, variant: str, file: Path = FILE) -> list[LiveRun]:
    """The runs that are stored of a variant; none where the file is not there, as in a wheel."""
    if not file.is_file():
        return []
    every = [LiveRun(**row) for row in json.loads(file.read_text(encoding="utf-8"))]
    return [run for run in every if (run.protocol, run.variant) == (protocol, variant)]


def counts_of(runs: Sequence[LiveRun]) -> dict[str, int]:
    """All of them together."""
    names = dict.fromkeys(name for run in runs for name in run.dangers)
    return {name: sum(run.dangers.get(name, 0) for run in runs) for name in names}
