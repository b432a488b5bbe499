"""What a project asks for by default, in [tool.fencepost] of its pyproject.toml: an option wins, and reports say so."""

from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.configuration import KEYS

REFERENCE = "fencepost.reference_impl.systems.id_blocks:reference"
BROKEN = "fencepost.reference_impl.defects.id_blocks:answers_before_commit"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a folder in it in which commands run."""
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path


def configured(project: Path, **values: object) -> None:
    lines = "".join(f"{key} = {value!r}\n" for key, value in values.items())
    (project / "pyproject.toml").write_text(f"[project]\nname = 'mine'\n\n[tool.fencepost]\n{lines}")


def test_a_command_takes_what_it_is_not_given(project: Path) -> None:
    """A line says what and from where, and so does the report, also one that is a list; an option wins."""
    configured(project, protocol="id-blocks", variant="zookeeper", profile="ci", implementation=BROKEN)
    ran = fencepost("prove", "--json", project / "p.json")
    assert ran.code == 0, ran.err
    first = "from [tool.fencepost] of ../../pyproject.toml: protocol id-blocks/zookeeper, --profile ci"
    assert ran.out.splitlines()[0] == first
    taken = {"file": str(project / "pyproject.toml"), "values": {"name": "id-blocks/zookeeper", "profile": "ci"}}
    assert {str(row["configuration"]) for row in read_json(project / "p.json")} == {str(taken)}
    ran = fencepost("agree", "--implementation", REFERENCE, "--examples", 2, "--json", project / "a.json")
    assert ran.code == 0, ran.err
    assert read_json(project / "a.json")["configuration"]["values"] == {"name": "id-blocks/zookeeper"}
    ran = fencepost("prove", "id-blocks/zookeeper", "--profile", "smoke", "--json", project / "o.json")
    assert ran.code == 0 and "tool.fencepost" not in ran.out
    assert all("configuration" not in row for row in read_json(project / "o.json"))


def test_what_fits_one_protocol_is_not_taken_for_another(project: Path) -> None:
    """Nor is a system, where an option says that another is started."""
    configured(project, protocol="id-blocks", implementation=BROKEN, bootstrap="127.0.0.1:1")
    ran = fencepost("agree", "task-counts/shipped", "--examples", 1)
    assert ran.code == 0 and "tool.fencepost" not in ran.out, ran.err
    ran = fencepost("agree", "id-blocks", "--connect", "--examples", 1)
    assert ran.code == 2 and "id-blocks has no cluster of its own to drive" in ran.err


def test_properties_are_checked(project: Path) -> None:
    """As `--check` names them."""
    assert fencepost("generate", "id-blocks/kraft", "made", "--histories", 2).code == 0
    configured(project, properties=["ids unique"])
    ran = fencepost("replay", "made", "--no-conformance", "--json", project / "r.json")
    assert ran.code == 0, ran.err
    report = read_json(project / "r.json")
    assert set(report["judged"]) == {"ids_unique"}
    assert report["configuration"]["values"] == {"checks": ["ids unique"]}


def test_the_nearest_file_counts(project: Path) -> None:
    """Though it has no such table."""
    configured(project, protocol="id-blocks", variant="zookeeper")
    (project / "a" / "pyproject.toml").write_text("[project]\nname = 'inner'\n")
    ran = fencepost("prove")
    assert ran.code == 2 and "Missing argument" in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.fencepost]\nprotocl = 'id-blocks'", "has no key 'protocl'; did you mean protocol? "),
        ("[tool.fencepost]\nprofile = 3", "profile is 3, which is not a text; write that"),
        ("[tool.fencepost]\nproperties = 'ids'", "properties is 'ids', which is not a list of texts; write that"),
        ("[tool.fencepost]\nprofile = 'cii'", "profile is 'cii'; did you mean ci?"),
        ("[tool.fencepost]\nvariant = 'v1'", "has a variant and no protocol; "),
        ("[tool]\nfencepost = 3", "tool.fencepost is no table; "),
        ("[tool.fencepost", "this is no pyproject.toml: "),
    ],
)
def test_a_mistake_in_the_file_is_one_line(project: Path, text: str, says: str) -> None:
    """With the file, and exit code 2; a command that takes nothing from it does not mind."""
    (project / "pyproject.toml").write_text(text)
    ran = fencepost("prove", "id-blocks/zookeeper")
    assert ran.code == 2 and len(ran.err.splitlines()) == 1
    assert f"{project / 'pyproject.toml'}: " in ran.err and says in ran.err
    assert fencepost("list").code == 0


def test_the_help_names_every_key() -> None:
    ran = fencepost("--help")
    assert all(f"\n    {key} " in ran.out for key in KEYS)
