"""The command line as a shell has it: completion of what is begun, and `python -m fencepost`."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SCRIPT, clean_environment, fencepost
from fencepost.proofs.cli import COMMANDS
from fencepost.properties.catalogue import protocols


def offered(*words: str, shell: str = "bash") -> list[str]:
    """What the installed script offers for the last of these words."""
    line = " ".join(["fencepost", *words])
    asked = {"_FENCEPOST_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    ran = subprocess.run([SCRIPT], env=clean_environment(**asked), capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return [line.partition(",")[2] for line in ran.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("ver",), ["verify"]),
        (("explore", "id"), ["id-blocks", "idempotence"]),
        (("explore", "id-blocks/kraft-t"), ["id-blocks/kraft-threads", "id-blocks/kraft-threads-without-test"]),
        (("necessity", "task-counts"), ["task-counts"]),
        (("show", "transactions/core-v1-verified-p"), ["transactions/core-v1-verified-prompt"]),
        (("simulate", "kip618-yardstick/f"), ["kip618-yardstick/fence-new-count"]),
        (("schema", "re"), ["releases", "replay", "record"]),
        (("explore", "nope/"), []),
    ],
    ids=" ".join,
)
def test_completion(words: tuple[str, ...], names: list[str]) -> None:
    """Commands, protocols, and the variants of one."""
    assert offered(*words) == names


def test_completion_offers_the_variants_once_the_protocol_is_clear() -> None:
    """All protocols where nothing is begun; with a variant's name whatever the command can take."""
    assert offered("list", "") == list(protocols())
    found = offered("list", "config-topic-w")
    assert found == [
        "config-topic-writes",
        *(f"config-topic-writes/{v.name}" for v in protocols()["config-topic-writes"].variants),
    ]


def test_each_command_that_takes_a_protocol_completes_it() -> None:
    """No argument of that kind is left out."""
    import click
    from fencepost.proofs.cli import fencepost as group

    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Argument) and "PROTOCOL" in (parameter.metavar or ""):
                found = [item.value for item in parameter.shell_complete(context, "read")]
                variants = [f"read-committed/{v.name}" for v in protocols()["read-committed"].variants]
                assert found == ["read-committed", *(variants if "/VARIANT" in (parameter.metavar or "") else [])], name


def test_as_a_module(tmp_path: Path) -> None:
    """`python -m fencepost` is the same program; that of a wheel is tried where the wheel is built."""
    listed = fencepost("list").out
    command = [sys.executable, "-m", "fencepost", "list"]
    ran = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, listed, "")
