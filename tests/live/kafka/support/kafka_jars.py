"""Apache Kafka's jars: copied from Maven once a machine, and made quick to start."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

POM = Path(__file__).with_name("pom.xml")
RELEASES = {"4.0": "4.0.0", "4.4": "4.4.0"}  # that some findings are about, besides the pom's
ARCHIVE = "kafka.jsa"  # beside the jars: the classes that a node loads, in the form that a JVM maps into memory

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


def kafka_version(release: str = "") -> str:
    """The version of a release of `RELEASES`; by default the one that the pom names."""
    return RELEASES[release] if release else POM.read_text().partition("<kafka.version>")[2].partition("<")[0]


def fetch_kafka(folder: Path, timeout_s: float = 300, release: str = "") -> Path:
    """Copy Kafka's jars into `folder` unless they are there; from the local Maven cache if it has them all.

    Of several processes that ask for the same folder one copies, and the others wait for it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _copy(folder, timeout_s, kafka_version(release))
            (folder / "complete").touch()
    return folder


def java(
    jars: Path, logging: Path, heap_mb: int, main: str, *arguments: str, archive_to: Path | None = None
) -> list[str]:
    """The command that runs a class of Kafka's; `archive_to`: where to leave an archive of its classes as it ends."""
    tuning = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{heap_mb}m"]  # start-up is what costs here
    if archive_to is not None:
        tuning.append(f"-XX:ArchiveClassesAtExit={archive_to}")
    elif (jars / ARCHIVE).exists():
        tuning.append(f"-XX:SharedArchiveFile={jars / ARCHIVE}")  # another JVM than the one that wrote it ignores it
    return ["java", *tuning, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{jars}{os.sep}*", main, *arguments]


def _copy(folder: Path, timeout_s: float, version: str) -> None:
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dkafka.version={version}"]
    copy = ["mvn", "-B", "-q", "-Dstyle.color=never", "-f", str(POM), *goal]
    for command in ([*copy, "-o"], copy):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"Maven did not fetch Apache Kafka within {timeout_s:.0f} s") from None
        if done.returncode == 0:
            return
    lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
    raise ClusterError("Maven cannot fetch Apache Kafka: " + (lines[0] if lines else f"exit code {done.returncode}"))
