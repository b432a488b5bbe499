"""`fencepost schema`: what reports are made of.  That every report of every test is so is held in command_line.py."""

import json
from contextlib import nullcontext
from pathlib import Path

import jsonschema
import pytest
from command_line import closed, fencepost, read_json
from fencepost.proofs.cli import COMMANDS
from fencepost.proofs.report import SCHEMA
from fencepost.proofs.schemas import REPORTS
from metadata_logs import real_logs
from small_catalogue import small_catalogue
from transaction_logs import REAL

SMALL = {
    "verify": (),
    "prove": ("id-blocks/zookeeper",),
    "explore": ("id-blocks/by-broker-id",),
    "dangers": ("id-blocks/zookeeper",),
    "necessity": ("id-blocks", "--rule", "730.10"),
    "simulate": ("kip618-yardstick/any-writer", "--aim", "plain"),
    "agree": ("id-blocks/kraft", "--examples", 2),
    "generate": ("id-blocks/kraft", "DIR", "--histories", 3, "--cores", 1),
    "replay": ("DIR", "--cores", 1),
    "findings": (),
    "releases": ("--promise", "730.P3"),
}


def of_command(name: str) -> dict[str, object]:
    """The schema as it is printed, and a valid one at that."""
    ran = fencepost("schema", name)
    assert ran.code == 0, ran.err
    schema = json.loads(ran.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return dict(schema)


def test_every_report_has_a_schema() -> None:
    """Each command that takes --json has one, all are printed together, and each names the version."""
    silent = {"show", "explorer", "validate", "list", "export", "schema", "new", "language", "desk"}
    assert set(REPORTS) == set(COMMANDS) - silent
    together = json.loads(fencepost("schema").out)
    assert together == {name: of_command(name) for name in REPORTS}
    assert {name: schema["$id"] for name, schema in together.items()} == {
        name: f"urn:fencepost:{name}:{SCHEMA}" for name in REPORTS
    }
    assert "no report is written by 'replya'; did you mean replay?" in fencepost("schema", "replya").err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of histories."""
    made = tmp_path_factory.mktemp("schema") / "made"
    assert fencepost("generate", "id-blocks/kraft", made, "--histories", 3, "--cores", 1).code == 0
    return made


@pytest.mark.parametrize("command", SMALL)
def test_a_report_is_as_its_schema_says(command: str, made: Path, tmp_path: Path) -> None:
    """And no other: a field more, a field less, or one of another type is refused."""
    place = tmp_path / "made" if command == "generate" else made
    words = [place if word == "DIR" else word for word in SMALL[command]]
    file = tmp_path / "report.json"
    with small_catalogue() if command in ("verify", "dangers", "explore") else nullcontext():
        ran = fencepost(command, *words, "--json", file)
    assert ran.code == 0, ran.err
    report, schema = read_json(file), closed(of_command(command))
    document = report if isinstance(report, dict) else report[0]
    assert document.get("schema", SCHEMA) == SCHEMA
    assert ("schema" in document) == isinstance(report, dict)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(report)
    name = next(iter(document))
    for change in (lambda d: d.update(further=1), lambda d: d.pop(name), lambda d: d.update({name: [[]]})):
        changed = json.loads(json.dumps(report))
        change(changed if isinstance(changed, dict) else changed[0])
        assert not validator.is_valid(changed)


def test_reports_of_several(tmp_path: Path) -> None:
    """Lists where several variants are asked for, what sets of rules say, and both kinds of recording: what they write
    is held against the schema as any other report is."""
    nodes = real_logs(tmp_path)
    clients = tmp_path / "clients.jsonl"
    for number, words in enumerate(
        (
            ("explore", "id-blocks", "--bound", "ids=0"),
            ("necessity", "id-blocks", "--mutations", "sets", "--rule", "730.10"),
            ("record", *nodes, "--clients", clients, "--out", tmp_path / "a"),
            ("record", "--clients", clients, "--out", tmp_path / "b"),
            ("record", "--protocol", "transactions", *sorted(REAL.glob("node-*")), "--out", tmp_path / "c"),
        )
    ):
        file = tmp_path / f"{number}.json"
        ran = fencepost(*words, "--json", file)
        assert ran.code == 0, (words, ran.err)
        assert file.exists()
