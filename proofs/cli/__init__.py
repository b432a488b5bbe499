"""The command line.  ``fencepost verify`` is the main job; each other command is one engine by itself.

Exit code 0: as expected; 1: not; 2: bad input or environment, with a message of one line; 130: interrupted.
"""

import logging
import sys
from typing import NoReturn

import click
from fencepost.proofs.cli.interrupts import interruptible

COMMANDS = {
    "verify": "fencepost.proofs.cli.verify:verify",
    "prove": "fencepost.proofs.cli.proving:prove",
    "explore": "fencepost.proofs.cli.searches:explore",
    "dangers": "fencepost.proofs.cli.dangers:dangers",
    "necessity": "fencepost.proofs.cli.searches:necessity",
    "keep": "fencepost.proofs.cli.keeping:keep",
    "show": "fencepost.proofs.cli.telling:show",
    "list": "fencepost.proofs.cli.telling:list_protocols",
    "simulate": "fencepost.proofs.cli.simulating:simulate",
    "agree": "fencepost.proofs.cli.agreement:agree",
    "generate": "fencepost.proofs.cli.histories:generate",
    "replay": "fencepost.proofs.cli.histories:replay",
    "record": "fencepost.proofs.cli.recording:record",
    "findings": "fencepost.proofs.cli.findings:findings",
    "schema": "fencepost.proofs.cli.schema:schema",
}

OLDER = {"wander": "simulate"}
"""Names under which a command was known before, and is still called; the help shows the new ones."""


class Lazy(click.Group):
    """Imports a command only when it is asked for, so that ``fencepost list`` need not wait for Spark or Z3."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        cmd_name = OLDER.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from fencepost.properties.nearest import nearest

        if args and args[0] not in {**COMMANDS, **OLDER} and (near := nearest(args[0], COMMANDS)):
            ctx.fail(f"No such command {args[0]!r}; did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Kafka's exactly-once protocols: run, searched, proved, and held against real logs.

    Start with `fencepost verify`, then `fencepost list id-blocks`.  A protocol of your own goes by the package that it
    is in: `fencepost prove my.lease/core`.

    Exit code 0: everything is as expected, predicted violations included; 1: something is not; 2: bad input or
    environment, with a message of one line; 130: interrupted.
    """


def main() -> None:
    """The entry point: runs a command and turns what went wrong with its input into one line and exit code 2."""
    # Libraries report an interrupt, or a worker's end, through logging: that would be a page on top of our one line.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        with interruptible():
            code = fencepost(prog_name="fencepost", standalone_mode=False)
        sys.exit(code or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fencepost"
        refuse(f"{error.format_message().rstrip('.')}; see {command} --help", command)
    except (click.Abort, KeyboardInterrupt):
        click.echo("fencepost: interrupted", err=True)
        sys.exit(130)
    except input_errors() as error:
        refuse(str(error))
    except Exception as error:  # in the model of a user's own, which runs once, on symbols
        from fencepost.properties.registry import place

        where = place(error)
        if not where:
            raise
        refuse(f"{where}: {type(error).__name__}: {error}")


def refuse(why: str, command: str = "fencepost") -> NoReturn:
    """One line on the error stream, and exit code 2."""
    click.echo(f"{command}: {' '.join(why.split())}", err=True)
    sys.exit(2)


def input_errors() -> tuple[type[Exception], ...]:
    """The errors that mean bad input or environment; imported when one has been raised."""
    from fencepost.model.language.checks.errors import InputError
    from fencepost.proofs.unanswered import wire_errors

    return (OSError, InputError, *wire_errors())
