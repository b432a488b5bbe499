"""Ctrl-C and SIGTERM, command by command as the parser has them: an end within two seconds, exit code 130, one line,
and every report that was asked for, with what was found so far, marked as interrupted."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from command_line import clean_environment, closed, read_json
from fencepost.proofs.cli import COMMANDS
from fencepost.proofs.report import INTERRUPTED
from fencepost.proofs.schemas import schema_of
from interrupting import REPORTS, SIGNALS, command, inputs_for, words_for
from nights import night

SCRIPT = Path(__file__).parents[2] / "script.py"
INTERRUPTING = Path(__file__).parent / "support" / "interrupting.py"
WITHIN_S = 2.5
"""Two seconds, and what it takes to see that a process has ended."""
IN_EACH_RUN = 3
BEGINS_S = 240
"""Within it a command begins its work, or is over, also on a machine that is busy."""
WITH_REPORTS = [name for name in COMMANDS if any(p.name in REPORTS for p in command(name).params)]


def require_cut_short(name: str, reports: dict[str, str]) -> Any:
    """All reports of the command are there, as its schema says, and say that it was interrupted; returns the JSON."""
    assert set(reports) == {p.name for p in command(name).params} & set(REPORTS)
    if "junit" in reports:
        readable = ElementTree.fromstring(reports["junit"])
        assert [case.get("name") for case in readable.iter("testcase")][-1] == INTERRUPTED
    document = json.loads(reports["json_file"])
    jsonschema.Draft202012Validator(closed(schema_of(name))).validate(document)
    assert document["interrupted"] is True
    return document


def test_every_command_ends_at_an_interrupt() -> None:
    """By either signal, when its work is to begin: what it was asked for says that nothing was found yet."""
    ran = subprocess.run(
        [sys.executable, SCRIPT, INTERRUPTING, "begin"],
        capture_output=True, text=True, check=True, env=clean_environment(),
    )  # fmt: skip
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [(row["words"][0], row["how"]) for row in rows] == [(c, how.name) for c in COMMANDS for how in SIGNALS]
    for row in rows:
        assert (row["code"], row["err"]) == (130, "\nfencepost: interrupted\n"), row
        assert row["seconds"] < WITHIN_S
        if row["words"][0] in WITH_REPORTS:
            reports = {name: row[name] for name in REPORTS if name in row}
            assert require_cut_short(row["words"][0], reports) == {"schema": 1, "interrupted": True}


def worked_s() -> float:
    """The processor time of the commands that have ended, which other work on this machine does not change."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def interrupted_at_work(name: str, how: signal.Signals, after_s: float, place: Path) -> None:
    """The command in a process of its own, interrupted so long after its work began.  One that never comes to a place
    where it has something to report has to be over soon by itself."""
    readable, writable = os.pipe()
    words = words_for(name, inputs_for(name, place), place)
    with subprocess.Popen(
        [sys.executable, SCRIPT, INTERRUPTING, "work", str(writable), *words],
        cwd=place, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, pass_fds=[writable],
    ) as running:  # fmt: skip
        os.close(writable)
        try:
            before = worked_s()
            if not os.read(readable, 1):  # all that could write into it have ended
                assert running.wait(BEGINS_S) == 0, words
                assert worked_s() - before < 5, f"{name} works for long, and has nothing to report meanwhile"
                return
            time.sleep(after_s)
            assert running.poll() is None, f"{name} was over before it could be interrupted: give it more to do"
            at = time.monotonic()
            if how == signal.SIGINT:  # which a terminal sends to all processes of the group
                os.killpg(running.pid, how)
            else:
                running.send_signal(how)
            _, err = running.communicate(timeout=30)
            seconds = time.monotonic() - at
        finally:
            os.close(readable)
            running.kill()
    assert running.returncode == 130, (words, err)
    assert [line for line in err.splitlines() if line] == ["fencepost: interrupted"], words
    assert seconds < WITHIN_S, (words, seconds)
    reports = {report: (place / report).read_text() for report in REPORTS if (place / report).exists()}
    assert set(require_cut_short(name, reports)) > {"schema", "interrupted"}, "what was found is not in the report"


def cases(count: int | None) -> list[tuple[str, signal.Signals, float]]:
    """Commands and signals, each with a time: all of them, or some, by the seed."""
    seed = night() or 1
    chance = random.Random(seed)
    every = [(name, how, round(chance.uniform(0, 1), 2)) for name in WITH_REPORTS for how in SIGNALS]
    return every if count is None else chance.sample(every, count)


@pytest.mark.parametrize(("name", "how", "after_s"), cases(IN_EACH_RUN))
def test_some_commands_tell_what_they_found(name: str, how: signal.Signals, after_s: float, tmp_path: Path) -> None:
    interrupted_at_work(name, how, after_s, tmp_path)


@pytest.mark.nightly(nights=6)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "how", "after_s"), cases(None))
def test_every_command_tells_what_it_found(name: str, how: signal.Signals, after_s: float, tmp_path: Path) -> None:
    interrupted_at_work(name, how, after_s, tmp_path)


def test_a_second_interrupt_breaks_nothing_off(tmp_path: Path) -> None:
    """Who presses Ctrl-C again and again gets the report all the same."""
    words = ["simulate", "transactions/v2", "--steps", "1000000", "--json", "s.json"]
    readable, writable = os.pipe()
    with subprocess.Popen(
        [sys.executable, SCRIPT, INTERRUPTING, "work", str(writable), *words],
        cwd=tmp_path, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True, pass_fds=[writable],
    ) as running:  # fmt: skip
        os.close(writable)
        assert os.read(readable, 1) == b"b"
        os.close(readable)
        for _ in range(20):
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGINT)
            time.sleep(0.01)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, "\nfencepost: interrupted\n")
    assert read_json(tmp_path / "s.json")["interrupted"] is True


LATE = """
import signal
from fencepost.proofs.cli.shared.guarding import guarded
from fencepost.proofs.cli.shared.interrupts import SIGNALS, interruptible

def work():
    try:
        with interruptible():
            signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        for each in SIGNALS:
            signal.raise_signal(each)
    return 130

raise SystemExit(guarded(work))
"""


def test_a_signal_that_comes_late_is_passed_over(tmp_path: Path) -> None:
    """A terminal's reaches a command twice: the second time through the process that waits for it."""
    script = tmp_path / "late.py"
    script.write_text(LATE)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=clean_environment(), check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")
