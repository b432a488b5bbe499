"""Runs the programs of the findings, and the corners, on other releases of Kafka, and writes down what they saw.

python tests/script.py tests/live/kafka/corners/reproduce.py FILE [RELEASE …]

FILE is proofs/verdicts/reproduced.json. Without a release it is one of `jars.RELEASES`, another each night
(FENCEPOST_SEED). What FILE has of today is not run again, so that the command goes on where it was stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from corners_all import CORNERS as KNOWN
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import CORNERS, FINDINGS, LIVE_CONNECT
from fencepost.reference_impl.live.clusters.jars import RELEASES
from fencepost.reference_impl.live.connect.install import RELEASES as OF_CONNECT

ROOT = Path(__file__).parents[4]
LIVE = "tests/live/"


def programs() -> tuple[list[str], list[str], list[str]]:
    """Those of the findings that run on a live system, or on Kafka's classes; the corners that are none of them; and
    those of the findings that run on a live cluster of Connect, whose releases are others."""
    every = [program for each in FINDINGS for program in each.programs if program.startswith(LIVE)]
    of_findings = [each for each in dict.fromkeys(every) if not each.startswith(LIVE_CONNECT)]
    corners = [f"{CORNERS}[{name}]" for name in KNOWN]
    connect = [each for each in dict.fromkeys(every) if each.startswith(LIVE_CONNECT)]
    return of_findings, [each for each in corners if each not in of_findings], connect


def run(file: Path, release: str, wanted: list[str]) -> None:
    """What is not written down of today; one file of tests after the other, so that what was done is."""
    today = datetime.now(UTC).date()
    done = {row.program for row in reproduced.rows(file) if row.release == release and row.day == today}
    left = [each for each in wanted if each not in done]
    print(f"{release}: {len(left)} of {len(wanted)} programs", flush=True)
    for tests in dict.fromkeys(each.partition("::")[0] for each in left):
        ids = [each for each in left if each.partition("::")[0] == tests]
        options = ["-n", "0", "-q", "-m", "kafka", "--tb=line", "--kafka", release, "--reproduce", str(file)]
        subprocess.run([sys.executable, "-m", "pytest", *options, *ids], check=False, cwd=ROOT, env=_environment())


def _environment() -> dict[str, str]:
    """All of them tonight, whatever the night; and what fails is an answer."""
    return {name: value for name, value in os.environ.items() if name not in ("FENCEPOST_SEED", "FENCEPOST_PROFILE")}


if __name__ == "__main__":
    where, *releases = sys.argv[1:]
    night = int(os.environ.get("FENCEPOST_SEED", "0"))
    for part, known in zip(programs(), (RELEASES, RELEASES, OF_CONNECT), strict=True):
        for each in releases or [known[night % len(known)]]:
            run(Path(where).resolve(), each, part)
