"""Runs the programs of the findings, and the corners, on other releases of Kafka, and writes down what they saw.

python tests/script.py tests/live/reproduce.py FILE [RELEASE …]

FILE is proofs/verdicts/reproduced.json. Without a release it is one of `kafka_jars.RELEASES`, another each night
(FENCEPOST_SEED). What FILE has of this commit is not run again, so that the command goes on where it was stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from corners_all import CORNERS as KNOWN
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import CORNERS, FINDINGS
from kafka_jars import RELEASES

ROOT = Path(__file__).parents[2]
LIVE = "tests/live/"


def programs() -> list[str]:
    """Those that run on a live system, or on Kafka's classes, each once."""
    every = [each.program for each in FINDINGS] + [f"{CORNERS}[{name}]" for name in KNOWN]
    return [each for each in dict.fromkeys(every) if each.startswith(LIVE)]


def left(file: Path, release: str, commit: str) -> list[str]:
    """What is not written down of this commit."""
    done = {row.program for row in reproduced.rows(file) if (row.release, row.commit) == (release, commit)}
    return [each for each in programs() if each not in done]


def run(file: Path, release: str) -> None:
    """One file of tests after the other, so that what was done is written down."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    wanted = left(file, release, head.stdout.strip())
    print(f"{release}: {len(wanted)} programs", flush=True)
    for tests in dict.fromkeys(each.partition("::")[0] for each in wanted):
        ids = [each for each in wanted if each.partition("::")[0] == tests]
        options = ["-n", "0", "-q", "-m", "kafka", "--tb=line", "--kafka", release, "--reproduce", str(file)]
        subprocess.run([sys.executable, "-m", "pytest", *options, *ids], check=False, cwd=ROOT, env=_environment())


def _environment() -> dict[str, str]:
    """All of them tonight, whatever the night; and what fails is an answer."""
    return {name: value for name, value in os.environ.items() if name not in ("FENCEPOST_SEED", "FENCEPOST_PROFILE")}


if __name__ == "__main__":
    where, *releases = sys.argv[1:]
    tonight = RELEASES[int(os.environ.get("FENCEPOST_SEED", "0")) % len(RELEASES)]
    for each in releases or [tonight]:
        run(Path(where).resolve(), each)
