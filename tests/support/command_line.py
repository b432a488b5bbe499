"""The command line for tests: in this process, or in one of its own, with exit code and both streams; its server."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
from fencepost.proofs.cli import run
from fencepost.proofs.schemas import schema_of
from fencepost.reference_impl.live.clusters.ending import cores, started

SCRIPT = Path(sys.executable).parent / "fencepost"
TIMES = ("seconds", "compile_seconds", "cpu_seconds", "events_per_second", "followed_by")
"""What a report says of how it was made: times, and which code did it, which depends on what the cache has."""


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


def fencepost(*words: object) -> Ran:
    """Run a command in this process, by the function that the entry point calls."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["fencepost", *map(str, words)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(argv[1:])
    return as_documented(argv, Ran(code, out.getvalue(), err.getvalue()))


def clean_environment(**further: str) -> dict[str, str]:
    """This process's environment without what makes a terminal of a pipe."""
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")}
    return {**kept, **further}


ALL_CORES = ",".join(map(str, cores()))


def bound_to(cpus: str | None) -> list[str]:
    return ["taskset", "-c", cpus] if cpus else []


def process(*words: object, cpus: str | None = None, cwd: Path | None = None, **environment: str) -> Ran:
    """Run the installed script in a process of its own, perhaps on certain CPUs (as taskset has them), or elsewhere."""
    command = [*bound_to(cpus), str(SCRIPT), *map(str, words)]
    environment = clean_environment(**environment)
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False)
    return as_documented(["fencepost", *map(str, words)], Ran(ran.returncode, ran.stdout, ran.stderr))


def as_documented(argv: list[str], ran: Ran) -> Ran:
    """What a command came to, when the report that it wrote is as `fencepost schema` says, without a field more."""
    if ran.code in (0, 1, 130) and "--json" in argv:
        report = read_json(Path(argv[argv.index("--json") + 1]))
        jsonschema.Draft202012Validator(closed(schema_of(argv[1]))).validate(report)
    return ran


def closed(schema: Any) -> Any:
    """A schema that allows no field but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {name: closed(each) for name, each in schema.items()}
    return {"additionalProperties": False, **inside} if "required" in schema and "properties" in schema else inside


def read_json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def untimed(document: Any) -> Any:
    """A JSON document without the fields that say how long something took."""
    if isinstance(document, dict):
        return {key: untimed(value) for key, value in document.items() if key not in TIMES}
    return [untimed(value) for value in document] if isinstance(document, list) else document


@contextlib.contextmanager
def serving(*words: object, cwd: Path | None = None) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`fencepost explorer` in a process of its own, and the address that it prints; after the block it is interrupted,
    and ends with exit code 130."""
    command = [str(SCRIPT), "explorer", *map(str, words)]
    with started(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(), cwd=cwd
    ) as running:
        try:
            assert running.stdout is not None
            # What it has judged, it says before.
            url = next((line.strip() for line in running.stdout if line.startswith("http://")), "")
            assert url, running.stderr and running.stderr.read()
            yield running, url
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
            assert (running.returncode, out, err) == (130, "", "\nfencepost: interrupted\n")
        finally:
            running.kill()
