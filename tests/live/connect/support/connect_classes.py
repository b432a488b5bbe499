"""Runs the programs in `../java` on Kafka Connect's own classes, and reads what they saw.

They are of Kafka's packages, since what they look at is not public. Compiled once for each release, against its jars.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fencepost.reference_impl.live.clusters.jars import ClusterError, java_tuning

POM = Path(__file__).with_name("pom.xml")
SOURCES = tuple(sorted(Path(__file__).parents[1].joinpath("java").rglob("*.java")))
TIMEOUT_S = 120

Seen = Mapping[str, Mapping[str, str]]
"""By program: what it answered, by name."""


def compiled(folder: Path, jars: Sequence[Path]) -> Path:
    """The folder, with the programs compiled against the jars of these folders."""
    if not folder.exists():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        options = ["-nowarn", "-Xlint:none", "-proc:none", "-cp", _path(*jars), "-d", str(fresh)]
        command = ["javac", *(f"-J{each}" for each in java_tuning(256)), *options, *map(str, SOURCES)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise ClusterError(f"the programs cannot be compiled against {jars[0]}: {done.stderr[:2000]}")
        with suppress(OSError):  # another process was quicker
            fresh.rename(folder)
    return folder


class Classes(NamedTuple):
    """The folder of the compiled programs, and those of the jars that they need."""

    folder: Path
    jars: Sequence[Path]

    def run(self, main: str, asked: str = "") -> list[str]:
        """What a program prints, in a JVM of its own, of which standard output is the program's alone."""
        path = os.pathsep.join([str(self.folder), _path(*self.jars)])
        command = ["java", *java_tuning(256), "-Dlog4j2.level=off", "-cp", path, main]
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        return done.stdout.splitlines()


def look(classes: Classes) -> Seen:
    """All of them, in one JVM."""
    seen: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in classes.run("Look"):
        program, _, reported = line.partition(" ")
        key, _, value = reported.partition("=")
        seen[program][key] = value
    return seen


def _path(*jars: Path) -> str:
    return os.pathsep.join(f"{folder}{os.sep}*" for folder in jars)
