"""The command line.  ``fencepost verify`` is the main job; each other command is one engine by itself.

Exit code 0: as expected; 1: not; 2: bad input or environment, told in one line.
"""

import sys

import click
from fencepost.model.language import ModelError
from fencepost.properties.catalogue import CatalogueError

COMMANDS = {
    "verify": "fencepost.proofs.cli.verify:verify",
    "prove": "fencepost.proofs.cli.searches:prove",
    "explore": "fencepost.proofs.cli.searches:explore",
    "necessity": "fencepost.proofs.cli.searches:necessity",
    "show": "fencepost.proofs.cli.telling:show",
    "list": "fencepost.proofs.cli.telling:list_protocols",
    "agree": "fencepost.proofs.cli.agreement:agree",
    "generate": "fencepost.proofs.cli.histories:generate",
    "replay": "fencepost.proofs.cli.histories:replay",
    "record": "fencepost.proofs.cli.histories:record",
}


class Lazy(click.Group):
    """Imports a command only when it is asked for, so that ``fencepost list`` need not wait for Spark or Z3."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Kafka's exactly-once protocols: run, searched, proved, and held against real logs."""


def main() -> None:
    """The entry point: runs a command and turns what went wrong with its input into one line and exit code 2."""
    try:
        sys.exit(fencepost(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("fencepost: interrupted", err=True)
        sys.exit(2)
    except input_errors() as error:
        click.echo(f"fencepost: {' '.join(str(error).split())}", err=True)
        sys.exit(2)


def input_errors() -> tuple[type[Exception], ...]:
    """The errors that mean bad input or environment; imported only if something was raised."""
    from fencepost.proofs.explore.graph import TooManySteps
    from fencepost.proofs.ground.layout import BoundsError
    from fencepost.proofs.recording.errors import RecordingError
    from fencepost.proofs.recording.wire import WireError
    from fencepost.proofs.spark import SparkUnavailable
    from fencepost.properties.history import HistoryError

    return (
        ModelError,
        CatalogueError,
        BoundsError,
        TooManySteps,
        HistoryError,
        RecordingError,
        WireError,
        SparkUnavailable,
        OSError,
    )
