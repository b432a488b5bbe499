"""Runs the programs of the findings, and the corners, on other releases of Kafka, and writes down what they saw.

python tests/script.py tests/live/kafka/corners/reproduce.py FILE [RELEASE …]

FILE is proofs/verdicts/reproduced.json. Without a release it is one of `jars.RELEASES`, another each night
(FENCEPOST_SEED). What FILE has of today is not run again, so that the command goes on where it was stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from corners_all import CORNERS as KNOWN
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import CORNERS, FINDINGS, LIVE_CONNECT
from fencepost.reference_impl.live.clusters.jars import RELEASES
from fencepost.reference_impl.live.connect.install import RELEASES as OF_CONNECT

ROOT = Path(__file__).parents[4]
LIVE = "tests/live/"
AT_A_TIME = 3  # a cluster that starts, or is driven, waits most of the time


def programs() -> tuple[list[str], list[str], list[str]]:
    """Those of the findings that run on a live system, or on Kafka's classes; the corners that are none of them; and
    those of the findings that run on a live cluster of Connect, whose releases are others."""
    every = [program for each in FINDINGS for program in each.programs if program.startswith(LIVE)]
    of_findings = [each for each in dict.fromkeys(every) if not each.startswith(LIVE_CONNECT)]
    corners = [f"{CORNERS}[{name}]" for name in KNOWN]
    connect = [each for each in dict.fromkeys(every) if each.startswith(LIVE_CONNECT)]
    return of_findings, [each for each in corners if each not in of_findings], connect


def left(file: Path, release: str, wanted: list[str]) -> list[list[str]]:
    """What is not written down of today: the programs of each file of tests."""
    today = datetime.now(UTC).date()
    done = {row.program for row in reproduced.rows(file) if row.release == release and row.day == today}
    rest = [each for each in wanted if each not in done]
    print(f"{release}: {len(rest)} of {len(wanted)} programs", flush=True)
    files = dict.fromkeys(each.partition("::")[0] for each in rest)
    return [[each for each in rest if each.partition("::")[0] == tests] for tests in files]


def run(file: Path, release: str, ids: list[str]) -> None:
    """Each of these is written down when it has run."""
    options = ["-n", "0", "-q", "-m", "kafka", "--tb=line", "--kafka", release, "--reproduce", str(file)]
    command = [sys.executable, "-m", "pytest", *options, *ids]
    ran = subprocess.run(command, check=False, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, text=True)
    print(ran.stdout, end="", flush=True)


def _environment() -> dict[str, str]:
    """All of them tonight, whatever the night; and what fails is an answer."""
    return {name: value for name, value in os.environ.items() if name not in ("FENCEPOST_SEED", "FENCEPOST_PROFILE")}


if __name__ == "__main__":
    where, *releases = sys.argv[1:]
    night = int(os.environ.get("FENCEPOST_SEED", "0"))
    file = Path(where).resolve()
    jobs = [
        (file, release, ids)
        for part, known in zip(programs(), (RELEASES, RELEASES, OF_CONNECT), strict=True)
        for release in releases or [known[night % len(known)]]
        for ids in left(file, release, part)
    ]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda job: run(*job), jobs))
