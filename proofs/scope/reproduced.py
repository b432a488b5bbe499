"""This module records when, and at which commit, the program of each finding was last run on which release, and what it
saw.

``verdicts/reproduced.json`` has one row per program and release. Only the tests of live systems write this file, when
they are given ``--reproduce FILE`` and in the nightly profile. A finding may claim that it was seen, or was not seen,
only where such a row agrees, and a row that is too old fails the nightly."""

import fcntl
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date as Day
from pathlib import Path
from typing import Final, Literal

from fencepost.proofs.scope.findings import Finding

FILE = Path(__file__).parents[1] / "verdicts" / "reproduced.json"
OLDEST_DAYS = 7
Outcome = Literal["seen", "not seen", "not run"]
ORDER: Final = ("not run", "not seen", "seen")


@dataclass(frozen=True)
class Reproduced:
    """A `Reproduced` is the last run of a finding's program on a release. ``outcome`` is that the program passed and so
    saw what it describes, that it met another answer, or that it could not run, which is no evidence. ``says`` is the
    difference, or the reason. ``commit`` is that of this repository, with a + where files differed from it. ``seed`` is
    the seed of the night, if the program draws at random."""

    program: str
    release: str
    outcome: Outcome
    says: str
    commit: str
    date: str
    seed: str

    @property
    def day(self) -> Day:
        return Day.fromisoformat(self.date)


def rows(file: Path = FILE) -> list[Reproduced]:
    """Return all rows of the file. The list of rows is empty where the file does not exist, as in a wheel."""
    if not file.is_file():
        return []
    return [Reproduced(**row) for row in json.loads(file.read_text(encoding="utf-8"))]


def add(file: Path, fresh: Iterable[Reproduced]) -> None:
    """Replace the rows of the same program and release by the fresh ones. A lock lets one process write at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_name(file.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = {(row.program, row.release): row for row in (*rows(file), *fresh)}
        lines = (json.dumps(asdict(known[key]), ensure_ascii=False) for key in sorted(known))
        file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def last(finding: Finding, file: Path = FILE) -> Mapping[str, Reproduced]:
    """Return what the programs of a finding last saw, by release. A finding is seen where one of them saw it."""
    of_finding = [row for row in rows(file) if row.program in finding.programs]
    return {row.release: row for row in sorted(of_finding, key=lambda row: ORDER.index(row.outcome))}


def disagreements(findings: Iterable[Finding], file: Path = FILE) -> list[str]:
    """Return the places where a finding contradicts its rows."""
    found = []
    for each in findings:
        newest = last(each, file)
        for outcome, releases in (("seen", each.seen), ("not seen", each.not_seen)):
            written = {release for release, row in newest.items() if row.outcome == outcome}
            for release in sorted(set(releases) - written):
                row = newest.get(release)
                found.append(
                    f"{each.name}: {outcome} on {release}, and last {row.outcome if row else 'not tried'} there"
                )
            found += [f"{each.name}: {outcome} on {r}, which it does not say" for r in sorted(written - set(releases))]
    return found


def too_old(today: Day, file: Path = FILE) -> list[str]:
    return [
        f"{row.program} on {row.release}: last run on {row.date}"
        for row in rows(file) if (today - row.day).days > OLDEST_DAYS
    ]  # fmt: skip
