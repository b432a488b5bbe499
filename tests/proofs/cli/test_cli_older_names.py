"""What could be written on the command line at 5b03e08 still can be.  Its README's commands run in test_readme.py; here
are the names of that commit: commands and their options, protocols, variants, and properties as they were printed."""

import shlex
from pathlib import Path

import click
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.cli import OLDER
from fencepost.proofs.cli import fencepost as group
from fencepost.properties.catalogue import find, protocols
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import in_words, underscored

HERE = Path(__file__).parent / "as_of_5b03e08"
NAMES = read_json(HERE / "names.json")
LINES = (HERE / "README.sh").read_text(encoding="utf-8").splitlines()


def command_named(name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None, name
    return command


@pytest.mark.parametrize("name", NAMES["commands"])
def test_commands_and_options(name: str) -> None:
    """Each command and each of its options is there, shown in the help or not."""
    there = {o for p in command_named(name).params for o in (*p.opts, *p.secondary_opts)}
    assert set(NAMES["commands"][name]) <= there


@pytest.mark.parametrize("line", LINES, ids=[line.partition("  #")[0] for line in LINES])
def test_lines_are_understood(line: str) -> None:
    """Every command line of the README of that commit is one that the parser takes."""
    name, *words = shlex.split(line, comments=True)[1:]
    assert command_named(name).make_context(name, words).params


@pytest.mark.parametrize("protocol", NAMES["variants"])
def test_protocols_variants_and_properties(protocol: str) -> None:
    """Each is found under its name, and each property in some variant, as it is printed."""
    assert [find(f"{protocol}/{name}")[1] for name in NAMES["variants"][protocol]].count(None) == 0
    there = {n for v in protocols()[protocol].variants for n in v.properties.properties}
    assert {underscored(in_words(name)) for name in NAMES["properties"][protocol]} <= there


@pytest.mark.parametrize("protocol", NAMES["history properties"])
def test_history_properties(protocol: str) -> None:
    """Those that `--check` and `--require` name."""
    assert set(NAMES["history properties"][protocol]) <= set(properties_of(protocol).names)


@pytest.mark.parametrize(("older", "newer"), OLDER.items())
def test_a_command_goes_by_its_older_name(older: str, newer: str) -> None:
    """It is not listed in the help, and says the same of itself."""
    assert f"\n  {older} " not in fencepost("--help").out and f"\n  {newer} " in fencepost("--help").out
    of_older, of_newer = (fencepost(name, "--help").out for name in (older, newer))
    assert of_older.replace(f"fencepost {older}", f"fencepost {newer}").split() == of_newer.split()


def test_an_older_name_runs() -> None:
    assert fencepost("wander", "kip618-yardstick/any-writer", "--aim", "plain").code == 0
