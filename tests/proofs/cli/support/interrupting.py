"""Commands that are interrupted, with arguments made from what the command line's parser knows of them.

    python tests/proofs/cli/support/interrupting.py begin            each command, interrupted when its work is to begin
    python tests/proofs/cli/support/interrupting.py work FD WORD...  one command, which tells FD when its work has begun

Each of the first gives a line of JSON: the words, the signal, exit code, error stream, seconds and reports.
"""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from fencepost.proofs import cli
from fencepost.proofs.cli import COMMANDS, fencepost, run
from fencepost.proofs.cli.shared import interrupts
from fencepost.proofs.engines.second.ethos import PROGRAM, RULES, TOP

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REPORTS = ("json_file", "junit")
"""The parameters by which a command is asked for a report that an interrupt must not lose."""
SIZES = ("histories", "examples", "steps")
"""Parameters that say how much is to be done; of several, one cluster's or one history's is not the first."""
ENOUGH = 1_000_000


def command(name: str) -> click.Command:
    """A command as the parser has it."""
    found = fencepost.get_command(click.Context(fencepost), name)
    assert found is not None
    return found


def words_for(name: str, inputs: Mapping[str, list[str]], place: Path) -> list[str]:
    """A command with as much to do as its parameters allow, and all reports that it writes.  ``inputs``: histories, and
    a cluster's logs, by the name of the parameter that takes them.  AssertionError for a required parameter of which
    nothing is known here."""
    parameters = {p.name: p for p in command(name).params}
    words = [name]
    for param in parameters.values():
        if isinstance(param, click.Argument):
            words += _argument(name, param, inputs, place)
        elif param.required:
            given = {"out": str(place / "out")}
            assert param.name in given, f"{name} {param.opts}: say here what to give it"
            words += [param.opts[0], given[param.name]]
    if "logs" in parameters:
        words += ["--logs", *inputs["log_dirs"]]
    for report in REPORTS:
        if report in parameters:
            words += [parameters[report].opts[0], str(place / report)]
    if "profile" in parameters and name != "generate":  # where it is of histories from models
        words += ["--profile", "nightly"]
    if "fresh" in parameters:
        words += ["--fresh"]
    if size := next((size for size in SIZES if size in parameters), None):
        words += [f"--{size}", str(ENOUGH)]
    return words


def _argument(name: str, param: click.Argument, inputs: Mapping[str, list[str]], place: Path) -> list[str]:
    if param.metavar == "[FINDING]":  # its explanation is one text, which is there or not
        return []
    if str(param.name).startswith("name"):
        return ["transactions/v2" if "VARIANT" in str(param.metavar) else "transactions"]
    made = [str(place / "made")]
    known = {
        "prop": ["nothing hangs"],
        "command": ["verify"],
        "package": ["lease"],
        "file": [__file__],
        "directory": made,
        "folder": made,
        **inputs,
    }
    assert param.name in known, f"{name} {param.name}: say here what to give it"
    return known[param.name]


def inputs_for(name: str, place: Path) -> dict[str, list[str]]:
    """What the arguments of a command name: histories that take some time to be replayed, or a cluster's logs."""
    from metadata_logs import real_logs

    taken = {p.name for p in command(name).params}
    found: dict[str, list[str]] = {}
    if name == "audit":
        checker = place / "checker"  # which takes its time
        checker.write_text('#!/bin/sh\n[ "$1" = --show-config ] && echo version 0 || sleep 0.5; echo correct\n')
        checker.chmod(0o755)
        (place / TOP).write_text("")
        os.environ |= {PROGRAM: str(checker), RULES: str(place)}
        run(["prove", "source-offsets/merged-at-the-start", "--certificates", str(place / "made")])
    if "log_dirs" in taken:
        found["log_dirs"] = list(map(str, real_logs(place / "logs")))
    if "directory" in taken and "histories" not in taken:
        found["directory"] = [str(place / "histories")]
        if run(["generate", "transactions/v2", *found["directory"], "--histories", "2000"]):
            raise AssertionError("no histories to replay")
    return found


def interrupted_at_once(name: str, how: signal.Signals, inputs: Mapping[str, list[str]], place: Path) -> dict[str, Any]:
    """What comes of a command that hears the signal when its function is called."""
    found = command(name)
    words, function = words_for(name, inputs, place), found.callback

    def interrupted(**_: Any) -> None:
        signal.raise_signal(how)
        time.sleep(30)

    out, err = io.StringIO(), io.StringIO()
    began = time.monotonic()
    found.callback = interrupted
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
    finally:
        found.callback = function
    reports = {report: (place / report).read_text() for report in REPORTS if (place / report).exists()}
    seconds = time.monotonic() - began
    return {"words": words, "how": how.name, "code": code, "err": err.getvalue(), "seconds": seconds, **reports}


def begin() -> None:
    """Every command and signal."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = {"directory": [folder], "log_dirs": [folder]}
        for name in COMMANDS:
            for how in SIGNALS:
                place = Path(folder) / f"{name}-{how.name}"
                place.mkdir()
                print(json.dumps(interrupted_at_once(name, how, inputs, place)), flush=True)


def work(reported: int, words: list[str]) -> None:
    """The command as the entry point runs it; a byte is written when it has something to write at an interrupt."""

    def watch() -> None:
        while not interrupts.has_report():
            time.sleep(0.01)
        os.write(reported, b"b")

    def watched(arguments: Sequence[str]) -> int:
        """In the process that does the work."""
        threading.Thread(target=watch, daemon=True).start()
        return run(arguments)

    cli.run = watched
    sys.argv = ["fencepost", *words]
    cli.main()


if __name__ == "__main__":
    if sys.argv[1] == "begin":
        begin()
    else:
        work(int(sys.argv[2]), sys.argv[3:])
