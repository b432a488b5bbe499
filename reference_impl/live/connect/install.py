"""This module makes a release of Kafka Connect ready to start, once a machine: its jars from Maven, the probe connector
compiled against them, and class archives with which JVMs start in half the time.

    installed = install(cache_folder, "4.3.1")

The folder of a release is another one for each state of the poms, and that of the connector for each state of its
sources. Several processes may ask for the same release: one makes it ready, and the others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fencepost.reference_impl.live.clusters.jars import POM as PARENT
from fencepost.reference_impl.live.clusters.jars import ClusterError, fetch_jars, java_tuning

RELEASES = ("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
"""Those whose workers are tested here; workers of each run against brokers of `BROKERS`."""
BROKERS = "4.3.1"
OLD_CONNECT = RELEASES[0]
"""It has defects that are mended later."""
POM = Path(__file__).with_name("pom.xml")
SOURCES = tuple(sorted(Path(__file__).with_name("java").rglob("*.java")))
CONNECTOR = "probe.ProbeConnector"
SERVICE = "META-INF/services/org.apache.kafka.connect.source.SourceConnector"
COMPILE_S = 120


@dataclass(frozen=True)
class Installed:
    """An `Installed` is a release on this machine: a folder of jars for workers and brokers, and a `plugin.path`."""

    release: str
    jars: Path
    plugins: Path


def install(cache: Path, release: str = BROKERS) -> Installed:
    """Return the release, from `cache` where an earlier call has left it. Raise ClusterError where Maven or the
    compiler fails; `reason_to_skip` says beforehand whether they are there."""
    jars = fetch(cache, release)
    plugins = jars / f"plugins-{_state(SOURCES)}"
    with locked(plugins):
        if not plugins.exists():
            _compile(jars, plugins)
    return Installed(release, jars, plugins)


def fetch(cache: Path, release: str) -> Path:
    """Return the folder with the release's jars alone; otherwise as `install`."""
    return fetch_jars(cache / f"connect-{release}-{_state([PARENT, POM])}", POM, release)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of what will be at `path`, against other processes."""
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(jars: Path, plugins: Path) -> None:
    """Java 11 is what the oldest releases run on; the jar may be put into the plugin path of any worker."""
    fresh = plugins.with_name(plugins.name + ".new")
    classes = fresh / "classes"
    options = ["--release", "11", "-nowarn", "-proc:none", "-cp", f"{jars}/*", "-d", str(classes)]
    command = ["javac", *(f"-J{each}" for each in java_tuning(256)), *options, *map(str, SOURCES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"the probe connector cannot be compiled: {error}; a JDK with javac is needed") from error
    if done.returncode:
        raise ClusterError(f"the probe connector cannot be compiled against {jars}: {done.stderr[:2000]}")
    with zipfile.ZipFile(fresh / "probe.jar", "w") as jar:
        jar.writestr(SERVICE, f"{CONNECTOR}\n")
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    fresh.rename(plugins)


def _state(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:8]
