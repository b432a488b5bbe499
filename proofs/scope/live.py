"""This module stores how often the dangers were met in runs of agreement against real brokers.

Such a run needs brokers and takes minutes, so its counts are stored in ``verdicts/live.json``: the test that made it,
the release, the number of sequences that it drove, and the dangers that they met. Only the tests of live brokers write
this file, when they are given ``--keep-live FILE``. A danger that is not counted there is out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fencepost.proofs.testing import AgreementReport

FILE = Path(__file__).parents[1] / "verdicts" / "live.json"


@dataclass(frozen=True)
class LiveRun:
    """A `LiveRun` is one run that found nothing wrong with the brokers. ``test`` is the test that repeats the run."""

    protocol: str
    variant: str
    brokers: str
    test: str
    seed: int
    examples: int
    dangers: Mapping[str, int]


def run_of(report: AgreementReport, brokers: str, test: str) -> LiveRun:
    """Return the entry to store for a report. Raise ValueError if the report fails, or follows no model and so judges
    no promise."""
    if report.verdict != "holds" or report.model == "none":
        raise ValueError(f"{test}: {report.verdict}, held against model {report.model}: nothing of that is kept")
    met = dict(sorted(report.dangers.items()))
    return LiveRun(report.protocol, report.variant, brokers, test, report.seed, report.examples, met)


def write(file: Path, runs: Sequence[LiveRun]) -> None:
    file.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")


def runs_of(protocol: str, variant: str, file: Path = FILE) -> list[LiveRun]:
    """Return the stored runs of a variant. The list of runs is empty where the file does not exist, as in a wheel."""
    if not file.is_file():
        return []
    every = [LiveRun(**row) for row in json.loads(file.read_text(encoding="utf-8"))]
    return [run for run in every if (run.protocol, run.variant) == (protocol, variant)]


def counts_of(runs: Sequence[LiveRun]) -> dict[str, int]:
    """Return the sum of the counts of all runs, by danger."""
    names = dict.fromkeys(name for run in runs for name in run.dangers)
    return {name: sum(run.dangers.get(name, 0) for run in runs) for name in names}
