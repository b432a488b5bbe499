"""Which release of Kafka live tests run on, and what is written down of the programs of findings and of the corners."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import CORNERS, FINDINGS, LIVE_CONNECT
from fencepost.proofs.scope.reproduced import Outcome, Reproduced
from fencepost.reference_impl.live.clusters import jars
from fencepost.reference_impl.live.connect.install import BROKERS, OLD_CONNECT
from outcomes import outcome_of

DRIVEN = "tests/live/connect/test_connect_driven"
SEEN: dict[str, tuple[Outcome, str]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    says = "run every cluster, and Kafka's own classes, of this release; by default as the pom and the tests say"
    parser.addoption("--kafka", metavar="RELEASE", default="", help=says)
    says = "write to this file what the programs of findings saw (proofs/verdicts/reproduced.json)"
    parser.addoption("--reproduce", metavar="FILE", default=None, help=says)


def pytest_configure(config: pytest.Config) -> None:
    jars.use(config.getoption("kafka", ""))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:  # the report comes out as it went in
    """What a program saw: it says of a defect that it is there, and passes if it is."""
    report = yield
    program = _program_of(item.nodeid)
    if program and (call.when == "call" or call.excinfo is not None):
        reported = outcome_of(call.when, None if call.excinfo is None else call.excinfo.value)
        if SEEN.get(program, ("seen", ""))[0] == "seen":  # of several cases the first that says otherwise
            SEEN[program] = reported
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Also where the session was interrupted."""
    nightly = reproduced.FILE if os.environ.get("FENCEPOST_PROFILE") == "nightly" else None
    file = session.config.getoption("reproduce", None) or nightly
    if file is None or not SEEN:
        return
    today, seed = datetime.now(UTC).date().isoformat(), os.environ.get("FENCEPOST_SEED", "0")
    commit = _commit(session.config.rootpath)
    rows = (
        Reproduced(program, jars.kafka_version(_release_of(program)), outcome, says, commit, today, seed)
        for program, (outcome, says) in SEEN.items()
    )
    reproduced.add(Path(file), rows)


def _program_of(test: str) -> str | None:
    """The program that a test is, or is a case of: of a finding; or a corner, which says what its release answers."""
    programs = {program for each in FINDINGS for program in each.programs}
    if test in programs or test.startswith(f"{CORNERS}["):
        return test
    whole = test.partition("[")[0]
    return whole if whole in programs else None


def _release_of(program: str) -> str:
    """The release that a program asks for by itself: a corner of an older one, and workers of Connect."""
    if program.startswith((LIVE_CONNECT, DRIVEN)):
        return OLD_CONNECT if program.startswith(f"{LIVE_CONNECT}old") else BROKERS
    if not program.startswith(CORNERS):
        return ""
    from corner import CORNERS as KNOWN
    from corner import SETTINGS

    return SETTINGS[KNOWN[program.partition("[")[2].rstrip("]")].on].release


def _commit(root: Path) -> str:
    reported = [
        subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, check=False).stdout.strip()
        for command in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    ]
    changed = [line for line in reported[1].splitlines() if not line.endswith("proofs/verdicts/reproduced.json")]
    return (reported[0] or "unknown") + ("+" if changed else "")
