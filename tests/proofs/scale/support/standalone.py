"""A Spark standalone cluster from what PySpark carries: a master and workers as processes, on the loopback address."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from fencepost.reference_impl.live.clusters.ending import started

HOME = Path(pyspark.__file__).parent
SCALA = next(re.search(r"_(\d+\.\d+)-", jar.name)[1] for jar in (HOME / "jars").glob("spark-core_*"))  # type: ignore[index]
"""Without it, executors look for the folders that Spark is built in."""
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"
PATIENCE_S = 60


@dataclass
class Cluster:
    """``master``: its address; ``workers``: the processes, each with a group of its own, which its executors share."""

    master: str
    workers: list["subprocess.Popen[str]"] = field(default_factory=list)

    def kill(self, number: int) -> None:
        """A worker and its executors, at once."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Workers of one core each; all processes end with the block.  ``folder``, made if it is not there, gets what they
    write."""
    folder.mkdir(exist_ok=True)
    running: list[subprocess.Popen[str]] = []

    def start(name: str, *words: str) -> "subprocess.Popen[str]":
        log = (folder / f"{name}.log").open("w")
        process = started(
            ["java", "-Xmx512m", "-cp", f"{HOME / 'jars'}/*", *words], stdout=log, stderr=subprocess.STDOUT, text=True,
            env=environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
        running.append(process)
        return process

    environment = {
        **os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder / "work"), "SPARK_NO_DAEMONIZE": "1", "SPARK_SCALA_VERSION": SCALA,
    }  # fmt: skip
    usual = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        start("master", "org.apache.spark.deploy.master.Master", *usual)
        found = Cluster(_stated(folder / "master.log", STARTED))
        for number in range(workers):
            name = f"worker-{number}"
            given = (*usual, "--cores", "1", "--memory", "1g", found.master)
            found.workers.append(start(name, "org.apache.spark.deploy.worker.Worker", *given))
            _stated(folder / f"{name}.log", re.compile(f"({REGISTERED})"))
        yield found
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _stated(log: Path, wanted: re.Pattern[str]) -> str:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := wanted.search(log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log} does not say {wanted.pattern}: {log.read_text()[-2000:]}")
