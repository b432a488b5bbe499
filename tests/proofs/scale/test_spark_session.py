"""Spark's session: what is refused before it starts, and what travels to workers on other machines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.spark import SparkUnavailable, packed_distribution, session
from fencepost.proofs.scale.units import SparkSettings, require_reachable
from fencepost.properties.history import HistoryError, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from pyspark.sql import SparkSession

SEEDED = "fencepost.properties.id_blocks.histories:simulate_many"
REMOTE = [
    "spark://host:7077", "spark://127.0.0.1:1,host:2", "spark://127.0.0.1.example:1", "yarn", "k8s://https://host",
    "local-cluster[1,1,1024]",
]  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_histories(tmp_path / "h", [SEEDED_HISTORY.seeded(1, 0, 3)[0]], ID_BLOCKS)
    return tmp_path / "h"


@pytest.mark.parametrize("master", REMOTE)
@pytest.mark.parametrize("prefix", ["", "file://"])
def test_workers_elsewhere_cannot_reach_a_local_path(directory: Path, master: str, prefix: str) -> None:
    """A remote master and a local path are refused before any session starts, with the reason."""
    settings = SparkSettings(master)
    with pytest.raises(HistoryError, match=r"is on this machine only, and the workers of .* run on others; give a URI"):
        replay(f"{prefix}{directory}", spark=settings)
    with pytest.raises(HistoryError, match="is on this machine only"):
        generate(f"{prefix}{directory}2", SEEDED, histories=1, seed=1, many=True, spark=settings)
    assert SparkSession.getActiveSession() is None


@pytest.mark.parametrize("place", ["hdfs://host/h", "s3://bucket/h", "gs://bucket/h"])
def test_places_that_every_worker_reaches(place: str) -> None:
    """A URI of a shared store is no reason to refuse, nor is a local path on a local master."""
    require_reachable(Location.of(place), SparkSettings("spark://host:7077"))
    for master in ("local[4]", "spark://127.0.0.1:7077", "spark://localhost:1,127.0.0.2:2"):
        require_reachable(Location.of("/h"), SparkSettings(master))
    require_reachable(Location.of("/h"), None)
    assert not Location.of(place).is_local


@pytest.mark.parametrize(
    ("home", "text"), [(None, "there is no `java` on the PATH"), ("/nowhere", "JAVA_HOME is /nowhere")]
)
def test_java_is_missing(directory: Path, monkeypatch: pytest.MonkeyPatch, home: str | None, text: str) -> None:
    """Without Java the message says so, and how to do without."""
    monkeypatch.setenv("PATH", "/nowhere")
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkUnavailable) as caught:
        replay(directory, spark=SparkSettings("local[1]"))
    assert str(caught.value).startswith("Spark needs Java 17 or newer: ")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_session_is_running(directory: Path) -> None:
    """A running session on another master is not silently used instead (starts Spark: about 10 s)."""
    with session(SparkSettings("local[1]")) as running:
        with pytest.raises(SparkUnavailable, match=r"session on local\[1\] is running .*, local\[2\] was asked"):
            replay(directory, spark=SparkSettings("local[2]"))
        assert running.sparkContext.getConf().get("spark.ui.enabled") == "false"
        assert running.sparkContext.getConf().get("spark.driver.bindAddress") == "127.0.0.1"
        assert replay(directory, spark=SparkSettings("local[1]")).histories == 3
        assert SparkSession.getActiveSession() is running
    assert SparkSession.getActiveSession() is None


def test_the_distribution_travels_as_a_zip(tmp_path: Path) -> None:
    """A worker without fencepost imports all that it needs from the zip that is shipped with the job."""
    archive = packed_distribution(tmp_path)
    program = (
        "import fencepost.proofs.scale.replay as r, fencepost.proofs.scale.generate as g;"
        "import fencepost.reference_impl.systems.id_blocks as i;"
        "from fencepost.properties.history import VOCABULARIES as v;"  # found by the texts of modules
        "print(v.module_name('id-blocks'), r.__file__, g.__file__, i.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    command = [sys.executable, "-c", program]
    places = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ).stdout
    found, *paths = places.split()
    assert found == "fencepost.properties.id_blocks.events"
    assert [path.startswith(str(archive)) for path in paths] == [True, True, True]


@pytest.mark.nightly
def test_workers_in_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's executors, started apart, run the shipped distribution and give the same report (about 60 s).

    They share this disk, so the refusal of local paths is lifted; all else is as on other machines.
    """
    for module in ("generate", "replay"):
        monkeypatch.setattr(f"fencepost.proofs.scale.{module}.require_reachable", lambda place, spark: None)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    cluster = SparkSettings("local-cluster[2,1,1024]")
    generate(tmp_path, SEEDED, histories=2000, seed=1, config={"share": 0.01}, many=True, spark=cluster)
    assert replay(tmp_path, spark=cluster) == replay(tmp_path, cores=1)
