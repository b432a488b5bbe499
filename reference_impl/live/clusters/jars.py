"""This module copies Apache Kafka's jars from Maven once a machine, and runs their classes."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

POM = Path(__file__).with_name("pom.xml")
RELEASES = ("4.3.1", "4.2.2", "4.1.2", "4.0.2", "4.0.0", "3.9.2")
"""Those that findings are looked for on, besides the pom's."""
TRANSACTION_VERSION, FIRST_WITH_FEATURE = "transaction.version", 4
ARCHIVE = "kafka.jsa"  # next to the jars: the classes that a node loads, in the form that a JVM maps into memory

LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1}: %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = OUT
"""


class ClusterError(Exception):
    """Kafka could not be had or did not do what was asked; the message ends with what the node printed last."""


def reason_to_skip() -> str | None:
    """Why no cluster can be started here, or None."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not found on PATH: Apache Kafka cannot be fetched and run" if missing else None


_under_test = ""


def use(release: str) -> None:
    """From now on every cluster is of this release, also those whose test asks for another; "": as the tests say."""
    global _under_test  # noqa: PLW0603
    _under_test = release


def kafka_version(release: str = "") -> str:
    """The release that a cluster is of where a test asks for one, by default for the pom's."""
    return _under_test or release or POM.read_text().partition("<kafka.version>")[2].partition("<")[0]


def features_of(jars: Path, features: Mapping[str, int]) -> dict[str, int]:
    """Those that a cluster of these jars is formatted with. ClusterError for a transaction.version that they do not
    have: before 4.0 there is none, and brokers are what 1 is later, or 0 where verification is off."""
    version = next(jars.glob("kafka-clients-*.jar")).stem.rpartition("-")[2]
    if int(version.partition(".")[0]) >= FIRST_WITH_FEATURE:
        return dict(features)
    if features.get(TRANSACTION_VERSION, 0) > 1:
        raise ClusterError(f"Kafka {version} has no {TRANSACTION_VERSION} {features[TRANSACTION_VERSION]}")
    return {name: level for name, level in features.items() if name != TRANSACTION_VERSION}


def fetch_kafka(folder: Path, timeout_s: float = 300, release: str = "") -> Path:
    """As `fetch_jars`: what a node needs."""
    return fetch_jars(folder, POM, kafka_version(release), timeout_s)


def fetch_jars(folder: Path, pom: Path, release: str, timeout_s: float = 300) -> Path:
    """Copy what a pom names into `folder` unless it is there; from the local Maven cache if that has it all.

    Of several processes that ask for the same folder one copies, and the others wait for it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _copy(folder, pom, timeout_s, release)
            (folder / "complete").touch()
    return folder


def java(
    jars: Path,
    logging: Path,
    heap_mb: int,
    main: str,
    *arguments: str,
    archive_to: Path | None = None,
    archive: str = ARCHIVE,
    options: Sequence[str] = (),
) -> list[str]:
    """The command that runs a class of Kafka's; `archive_to`: where to leave an archive of its classes as it ends."""
    tuning = [*java_tuning(heap_mb), *options]
    if archive_to is not None:
        tuning.append(f"-XX:ArchiveClassesAtExit={archive_to}")
    elif (jars / archive).exists():
        tuning.append(f"-XX:SharedArchiveFile={jars / archive}")  # another JVM than the one that wrote it ignores it
    return ["java", *tuning, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{jars}{os.sep}*", main, *arguments]


def java_tuning(heap_mb: int) -> list[str]:
    """Options of a JVM of which the start is what costs."""
    return ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{heap_mb}m"]


def _copy(folder: Path, pom: Path, timeout_s: float, version: str) -> None:
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dkafka.version={version}"]
    copy = ["mvn", "-B", "-q", "-Dstyle.color=never", "-f", str(pom), *goal]
    for command in ([*copy, "-o"], copy):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"Maven did not fetch Apache Kafka within {timeout_s:.0f} s") from None
        if done.returncode == 0:
            return
    lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
    raise ClusterError("Maven cannot fetch Apache Kafka: " + (lines[0] if lines else f"exit code {done.returncode}"))
