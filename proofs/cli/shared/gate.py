"""This module gives a command the reports that CI systems read: ``--junit``, ``--sarif``, and annotations on GitHub.

    @click.command()
    @click.argument(…)
    @gated
    def doctor(…, gate: Gate) -> int:
        with reported(json_file, document, further=lambda: gate.write(cases(), interrupted=True)):
            …
        gate.write(cases())

``cases()`` returns a `Case` for each thing that was judged so far; its docstring explains the fields. A command whose
exit code is 1 has a case that failed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click
from fencepost.proofs.cases import Case
from fencepost.proofs.cli.shared.interrupts import nothing_yet
from fencepost.proofs.cli.shared.options import OutputFile
from fencepost.proofs.cli.shared.quiet import always, failed
from fencepost.proofs.report import write_junit
from fencepost.proofs.sarif import annotations, write_sarif


@dataclass(frozen=True)
class Gate:
    """A `Gate` writes the cases of a command, which began at ``began`` (of `time.perf_counter`), to the reports that
    were asked for."""

    command: str
    junit: Path | None
    sarif: Path | None
    began: float = field(default_factory=time.perf_counter)

    def write(self, cases: Sequence[Case], *, interrupted: bool = False) -> None:
        """Write the reports, and print annotations where GitHub reads them. With ``--quiet``, only the failed cases are
        printed. Call this once, at the end of the work, or at an interrupt with what was judged up to there."""
        if self.junit is not None:
            seconds = time.perf_counter() - self.began
            write_junit(self.junit, self.command, cases, seconds, interrupted=interrupted)
        if self.sarif is not None:
            write_sarif(self.sarif, cases)
        failed(case for case in cases if case.outcome == "failed")
        for line in annotations(cases):
            always(line)


def gated(command: Callable[..., int]) -> Callable[..., int]:
    """Add ``--junit`` and ``--sarif`` to a command, whose function gets a `Gate` as its parameter ``gate``."""

    def begun(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
        if file is not None:
            nothing_yet(file, lambda: write_junit(file, command.__name__, [], 0.0, interrupted=True))
        return file

    @click.option(
        "--junit", type=OutputFile(), metavar="FILE", callback=begun,
        help="Write a JUnit report: what failed, and what was not decided, as skipped with the reason.",
    )  # fmt: skip
    @click.option(
        "--sarif", type=OutputFile(), metavar="FILE", help="Write what is not as expected, or not decided, as SARIF."
    )
    @wraps(command)
    def with_gate(*args: Any, junit: Path | None, sarif: Path | None, **rest: Any) -> int:
        return command(*args, gate=Gate(command.__name__, junit, sarif), **rest)

    return with_gate
