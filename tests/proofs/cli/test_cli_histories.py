"""`generate` and `replay`: in processes of this machine unless Spark is asked for, with the same report either way."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from command_line import fencepost, process, read_json, untimed
from fencepost.proofs.cli import generate
from fencepost.proofs.scale.units import SparkSettings

KRAFT = "id-blocks/kraft"


def path_without_java(folder: Path) -> str:
    """A PATH on which there is no java."""
    places = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(p for p in places if not Path(p, "java").exists()) or str(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories with a defect, so that a report has violations."""
    made = tmp_path_factory.mktemp("spark") / "made"
    config = ("--config", "events=300", "--config", "broken=answers_before_commit")
    assert fencepost("generate", KRAFT, made, "--histories", 40, *config, "--cores", 1).code == 0
    return made


def rates_left_out(text: str) -> str:
    return re.sub(r"[\d,]+ events/s", "N events/s", text)


def test_the_same_report_with_spark_and_without(made: Path, tmp_path: Path) -> None:
    """Byte for byte, timings aside, on paper and in JSON; and the same rows generated."""
    ran = {}
    for name, words in (("here", ()), ("spark", ("--master", "local[2]"))):
        ran[name] = process("replay", made, *words, "--json", tmp_path / f"{name}.json")
        assert ran[name].code == 1, ran[name].err
        assert "violated" in ran[name].out
    assert rates_left_out(ran["here"].out) == rates_left_out(ran["spark"].out)
    here, spark = (untimed(read_json(tmp_path / f"{name}.json")) for name in ran)
    assert here == spark
    words = ("generate", KRAFT, tmp_path / "again", "--histories", 40, "--config", "events=300")
    assert process(*words, "--config", "broken=answers_before_commit", "--master", "local[2]").code == 0
    assert (tmp_path / "again" / "part-00000.parquet").read_bytes() == (made / "part-00000.parquet").read_bytes()


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither command needs it; where Spark is asked for both say so (test_cli_refusals)."""
    monkeypatch.setenv("PATH", path_without_java(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert fencepost("generate", KRAFT, tmp_path / "new", "--histories", 4).code == 0
    assert fencepost("replay", tmp_path / "new").code == 0


@pytest.mark.parametrize("java", [True, False])
def test_large_work_goes_to_spark_and_says_so(
    java: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is Java; where there is none it stays here, and says why."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if java:
        (tmp_path / "java").touch(mode=0o755)
    assert generate.settings(None, None, generate.LARGE - 1) is None
    assert capsys.readouterr().err == ""
    assert generate.settings(None, None, generate.LARGE) == (SparkSettings("local[2]") if java else None)
    why = "on Spark (local[2])" if java else "in processes here, since there is no `java` on the PATH"
    assert f"1,000,000,000 events are many: {why}" in capsys.readouterr().err
    assert generate.settings(None, 2, generate.LARGE) is None
    assert generate.settings("local[7]", 2, 1) == SparkSettings("local[7]")


def test_what_is_no_success(made: Path, tmp_path: Path) -> None:
    """Nothing decided is 2; what is required and not decided is 1, as is anything undecided if `all` is required."""
    observed = tmp_path / "shown"
    words = ("generate", KRAFT, observed, "--histories", 3, "--config", "events=100", "--cores", 1)
    assert fencepost(*words).code == 0
    file = observed / "manifest.json"
    reported = read_json(file)
    assert fencepost("replay", observed, "--cores", 1, "--require", "all").code == 0
    file.write_text(json.dumps(reported | {"config": {}}))
    ran = fencepost("replay", observed, "--cores", 1)
    assert ran.code == 0 and "    1 unknown (conformance): " in ran.out
    for asked in (("--require", "conformance"), ("--require", "all")):
        ran = fencepost("replay", observed, "--cores", 1, *asked)
        assert (ran.code, "required, and not decided: conformance" in ran.err) == (1, True)
    file.write_text(json.dumps(reported | {"observable": []}))
    ran = fencepost("replay", observed, "--cores", 1)
    assert (ran.code, "nothing was decided" in ran.err) == (2, True)
    assert fencepost("replay", observed, "--cores", 1, "--require", "ids_unique").code == 1


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        ({"variant": "zookeeper", "config": {}}, "written of the variant 'kraft', and the manifest says 'zookeeper'"),
        ({"variant": "zookeeper"}, "the variant is 'zookeeper', and the config says mode 'kraft'"),
        (
            {"variant": "kraf", "config": {}},
            "id-blocks has no variant 'kraf', as the manifest says; did you mean kraft",
        ),
    ],
)
def test_a_manifest_of_another_variant(made: Path, tmp_path: Path, edit: dict[str, object], text: str) -> None:
    """It is told before anything is judged."""
    copied = tmp_path / "copied"
    shutil.copytree(made, copied)
    manifest = read_json(copied / "manifest.json")
    (copied / "manifest.json").write_text(json.dumps(manifest | edit))
    ran = fencepost("replay", copied, "--cores", 1)
    assert (ran.code, text in ran.err) == (2, True), ran.err


def test_a_mode_that_is_not_the_variant(tmp_path: Path) -> None:
    """Histories of one variant are not generated under the name of another."""
    ran = fencepost("generate", "transactions/v2", tmp_path / "made", "--config", "mode=v1")
    assert (ran.code, "--config mode=v1 is not transactions/v2; name the variant" in ran.err) == (2, True)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("value", ["4.3", '"4.3"', "trunk"])
def test_a_release_is_a_name_and_no_number(value: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ran = fencepost(
        "generate", "transactions/v2", made, "--histories", 1, "--cores", 1, "--config", f"release={value}",
        "--config", "events=20",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert read_json(made / "manifest.json")["config"] == {"release": value.strip('"'), "mode": "v2", "events": 20}
