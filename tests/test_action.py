"""The GitHub Action, its example workflows and the image, as far as they can be tried without a runner and a daemon."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
import yaml
from command_line import read_json
from fencepost.proofs.cli import COMMANDS, fencepost

GITHUB = Path(__file__).parents[1] / ".github"
ACTION = GITHUB / "actions" / "fencepost"
EXAMPLES = sorted((GITHUB / "examples").glob("*.yml"))
BROKEN = "fencepost.reference_impl.defects.id_blocks:answers_before_commit"


@dataclass(frozen=True)
class Step:
    """What a step of a workflow came to."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


def run(command: str, place: Path) -> Step:
    """The action's script with what a runner gives it, as the step that calls it does."""
    (place / "temp dir").mkdir()
    given = {
        "FENCEPOST_COMMAND": command, "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"), "RUNNER_TEMP": str(place / "temp dir"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    given["GITHUB_ACTION_PATH"] = str(ACTION)
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", action()["runs"]["steps"][-1]["run"]]
    ran = subprocess.run(words, cwd=place, env=os.environ | given, capture_output=True, text=True, check=False)
    lines = (place / "output").read_text().splitlines() if (place / "output").exists() else []
    summary = (place / "summary.md").read_text() if (place / "summary.md").exists() else ""
    return Step(ran.returncode, ran.stdout + ran.stderr, dict(line.split("=", 1) for line in lines), summary)


def test_a_gate_that_holds(tmp_path: Path) -> None:
    """Exit code 0, both reports where the outputs say, and a summary of what was printed."""
    step = run("agree id-blocks/kraft --examples 3", tmp_path)
    assert step.code == 0, step.log
    assert step.outputs["exit-code"] == "0"
    assert ElementTree.parse(step.outputs["junit"]).getroot().get("failures") == "0"
    assert read_json(Path(step.outputs["sarif"]))["runs"][0]["results"] == []
    assert step.summary.startswith("### fencepost agree: as expected\n") and ": holds after " in step.summary


def test_a_gate_that_does_not_hold(tmp_path: Path) -> None:
    """Exit code 1, an annotation in the log alone, and the program in the summary."""
    step = run(f"agree id-blocks/kraft --implementation '{BROKEN}'", tmp_path)
    assert (step.code, step.outputs["exit-code"]) == (1, "1"), step.log
    assert ElementTree.parse(step.outputs["junit"]).getroot().get("failures") == "1"
    assert "\n::error " in step.log and "::error" not in step.summary
    assert step.summary.startswith("### fencepost agree: not as expected\n") and "system = factory(" in step.summary


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("list 'id-blocks'", 0, "zookeeper"),  # which writes no report
        ("agree '$(touch taken)' \"`touch taken`\"", 2, "`touch taken`"),
        ("", 2, "no command is named"),
    ],
)
def test_what_has_no_report(command: str, code: int, says: str, tmp_path: Path) -> None:
    """Exit code and message of the command; and no word of it is run by a shell."""
    step = run(command, tmp_path)
    assert step.code == code and says in step.log
    assert not {"junit", "sarif"} & {*step.outputs} and not (tmp_path / "taken").exists()


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    return found


def called(name: str) -> click.Command:
    command = fencepost.get_command(click.Context(fencepost), name)
    assert command is not None
    return command


def parameters(name: str) -> set[str | None]:
    return {param.name for param in called(name).params}


def test_the_action_runs_its_script() -> None:
    """The environment that the script reads is given, and its outputs are those that the action declares."""
    *_, last = action()["runs"]["steps"]
    assert set(last["env"]) == {"FENCEPOST_COMMAND"}
    script = (ACTION / "run.sh").read_text(encoding="utf-8")
    [reporting] = re.findall(r"^ *([\w |]+)\) reports=", script, re.MULTILINE)
    assert {*reporting.split(" | ")} & {*COMMANDS} == {name for name in COMMANDS if "junit" in parameters(name)}
    assert set(re.findall(r'echo "([\w-]+)=', script)) == set(action()["outputs"])
    named = {name for step in action()["runs"]["steps"] for name in re.findall(r"inputs\.([\w-]+)", str(step))}
    assert named == set(action()["inputs"])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_calls_the_action_with_a_command_that_there_is(file: Path) -> None:
    """With inputs and outputs that it declares, and options that the command has."""
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    calls = [step for step in steps if "/.github/actions/fencepost@" in step.get("uses", "")]
    assert calls
    for step in calls:
        assert set(step["with"]) <= set(action()["inputs"])
        name, *words = shlex.split(step["with"]["command"])
        called(name).make_context(name, words, resilient_parsing=True)
    used = re.findall(r"steps\.gate\.outputs\.([\w-]+)", file.read_text(encoding="utf-8"))
    assert used and set(used) <= set(action()["outputs"])


def test_the_image_copies_what_there_is() -> None:
    """Its build was not tried here: no daemon runs on the machines of this project."""
    text = (GITHUB / "Dockerfile").read_text(encoding="utf-8")
    copied = [words.split()[0] for words in re.findall(r"^COPY (.*)$", text, re.MULTILINE)]
    assert copied == [".", ".ci/constraints.txt"] and all((GITHUB.parent / name).exists() for name in copied)
