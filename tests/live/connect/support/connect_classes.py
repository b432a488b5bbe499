"""Runs the programs in `../java` on Kafka Connect's own classes, and reads what they saw.

They are of Kafka's packages, since what they look at is not public. Compiled once for each release, against its jars.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from kafka_jars import ClusterError, fetch_jars

POM = Path(__file__).with_name("pom.xml")
SOURCES = tuple(sorted(Path(__file__).parents[1].joinpath("java").rglob("*.java")))
TIMEOUT_S = 120
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")

Seen = Mapping[str, Mapping[str, str]]
"""By program: what it answered, by name."""


def compiled(folder: Path, release: str) -> Path:
    """The folder, with the jars of a release and the programs compiled against them."""
    jars, classes = fetch_jars(folder, POM, release), folder / "classes"
    if not (classes / "complete").exists():
        command = ["javac", "-nowarn", "-Xlint:none", "-cp", f"{jars}{os.sep}*", "-d", str(classes), *map(str, SOURCES)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise ClusterError(f"the programs cannot be compiled against Kafka {release}: {done.stderr[:2000]}")
        (classes / "complete").touch()
    return folder


def look(folder: Path) -> Seen:
    """All of them, in one JVM. AssertionError for one that ended with an exception."""
    path = f"{folder / 'classes'}{os.pathsep}{folder}{os.sep}*"
    done = subprocess.run(
        ["java", *QUICK, "-cp", path, "Look"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    seen: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in done.stdout.splitlines():
        program, _, told = line.partition(" ")
        key, _, value = told.partition("=")
        seen[program][key] = value
    return seen
