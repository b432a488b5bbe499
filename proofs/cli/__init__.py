"""This package is the command line. ``fencepost verify`` is the main command, and each other command runs one engine.
`exits` defines the exit codes, and the one-line message of a command that cannot go on."""

import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click
from fencepost import __version__ as fencepost_version
from fencepost.proofs.cache_folder import NO_CACHE, NOTHING_TAKEN, cache_folder
from fencepost.proofs.cli.shared import quiet
from fencepost.proofs.cli.shared.exits import CODES, INTERRUPTED, TRACEBACK, ended_by, make_printable, table
from fencepost.proofs.cli.shared.guarding import guarded
from fencepost.proofs.cli.shared.interrupts import interruptible, leave
from fencepost.proofs.configuration import KEYS, taken
from fencepost.proofs.processors import collect_seldom

COMMANDS = (
    "verify", "releases", "prove", "audit", "explore", "explorer", "desk", "dangers", "necessity", "mutants", "show",
    "validate", "list", "simulate", "export", "agree", "generate", "replay", "record", "doctor", "findings", "schema",
    "new", "language",
)  # fmt: skip
"""Each command is in the module of its name, except `list`, since a module of that name hides the built-in."""
LOOKUP = ("findings", "language", "list", "new", "schema")
"""The modules of these commands are in the package `lookup`."""

COMPLETION, HYPOTHESIS = "_FENCEPOST_COMPLETE", "HYPOTHESIS_STORAGE_DIRECTORY"
"""Click reads the first environment variable for completions, and Hypothesis its folder from the second."""
OWN = "FENCEPOST_PROTOCOLS"
"""This environment variable, which `registry` reads, names packages of the user's own protocols."""

ENVIRONMENT = {
    OWN: "packages of protocols of one's own, separated by commas",
    TRACEBACK: "any value: an error that ends a command has its traceback",
    NO_CACHE: "any value: nothing is read from the cache or stored there",
    NOTHING_TAKEN: "any value: verdicts are computed, and stored in the cache",
    "FENCEPOST_ETHOS": "the proof checker of audit, if it is not on PATH",
    "FENCEPOST_CPC": "the rules of audit: proofs/eo/cpc of cvc5's sources",
    "XDG_CACHE_HOME": "the folder of the cache, ~/.cache by default",
    "GITHUB_ACTIONS": "true: what failed or is undecided is an annotation, too",
    "NO_COLOR": "any value: the output has no colours",
}
"""These environment variables are documented. Others, such as the one of `HYPOTHESIS`, are of libraries."""
COMPLETING = {
    "bash": f'eval "$({COMPLETION}=bash_source fencepost)"',
    "zsh": f'eval "$({COMPLETION}=zsh_source fencepost)"',
    "fish": f"{COMPLETION}=fish_source fencepost | source",
}
EPILOG = "\n\n".join(
    (
        table("Exit codes", CODES),
        table("Defaults of a project, in [tool.fencepost] of its pyproject.toml; an option wins", KEYS),
        table("Environment", ENVIRONMENT),
        table("Completion, in the shell's startup file", COMPLETING),
    )
)


class Lazy(click.Group):
    """A `Lazy` group imports a command only on use, so that ``fencepost list`` need not wait for Spark or Z3."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        if cmd_name not in COMMANDS:
            return None
        name = _module_of(cmd_name)
        command = getattr(import_module(f"{__name__}.{name}"), name.rpartition(".")[2])
        assert isinstance(command, click.Command)
        command.epilog = "Exit codes: see fencepost --help."
        if all(param.name != "quiet" for param in command.params):
            command.params.append(quiet.option())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence from the source text, since importing all takes three times as
        long."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(name)) for name in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from fencepost.properties.nearest import nearest

        if args and args[0] not in COMMANDS and (near := nearest(args[0], COMMANDS)):
            ctx.fail(f"No such command {args[0]!r}; did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)


def _module_of(command: str) -> str:
    name = "list_protocols" if command == "list" else command
    return f"lookup.{name}" if command in LOOKUP else name


def _first_sentence(command: str) -> str:
    source = Path(__file__).parent.joinpath(f"{_module_of(command).replace('.', '/')}.py").read_text(encoding="utf-8")
    found = re.search(r'^@click.command.*?^    """(.*?)(?:\n|""")', source, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{command} has no docstring"
    return found[1]


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from fencepost.proofs.provenance import built_from

        commit = built_from()
        click.echo(f"fencepost, version {fencepost_version}{f' (commit {commit})' if commit else ''}")
        ctx.exit()


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version,
    help="Print the version with its commit and date, and exit.",
)  # fmt: skip
def fencepost() -> None:
    """Kafka's exactly-once protocols: run, searched, proved, and held against real logs.

    Start with `fencepost verify`, then `fencepost list id-blocks`. A protocol of your own is named by the package that
    it is in: `fencepost prove my.lease/core`.
    """


fencepost.params.append(quiet.option())


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. What was wrong with the input is reported in one line."""
    taken.clear()
    code = _run(arguments)
    quiet.end(code)
    return code


def _run(arguments: Sequence[str]) -> int:
    make_printable()
    # Libraries log an interrupt or a worker's end at length, which would bury the one line of the command.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        _require_text(arguments)
        with interruptible():
            code = fencepost(list(arguments), prog_name="fencepost", standalone_mode=False)
            sys.stdout.flush()  # a full disk is noticed here
        return int(code or 0)
    except BaseException as error:
        return ended_by(error)


def _require_text(words: Sequence[str]) -> None:
    """Raise UsageError for arguments that are not UTF-8, since Arrow cannot open files with such names."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"{word!r} is not UTF-8: rename the file, or correct the word") from None


def main() -> NoReturn:
    collect_seldom()
    if os.environ.get(OWN):  # the packages may be in the working directory
        from fencepost.proofs.cli.shared.options import import_from_here

        import_from_here()
    if COMPLETION in os.environ:  # a shell asks for completions, which click prints, and ends with sys.exit
        fencepost(prog_name="fencepost")
    # Hypothesis stores examples, which do not belong into the current directory.
    os.environ.setdefault(HYPOTHESIS, str(cache_folder() / "hypothesis"))
    # An interrupt may end a process with semaphores, and Python would warn when it clears them away.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    code = guarded(lambda: run(sys.argv[1:]))
    if code == INTERRUPTED:
        leave(code)
    sys.exit(code)
