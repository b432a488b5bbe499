"""The command ``schema`` prints the JSON Schema of the other commands' reports."""

import json

import click


def _begun(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from fencepost.proofs.schemas import REPORTS

    return [name for name in REPORTS if name.startswith(begun)]


@click.command()
@click.argument("command", required=False, metavar="[COMMAND]", shell_complete=_begun)
def schema(command: str | None) -> int:
    """Print the JSON Schema of a command's --json report.

    Without a command: of all of them, in one object.  The version goes up when a field changes its meaning or goes
    away, and stays when one is added.  Example: fencepost schema replay
    """
    from fencepost.proofs.schemas import REPORTS, schema_of
    from fencepost.properties.nearest import instead

    if command is None:
        printed = {name: schema_of(name) for name in REPORTS}
    else:
        if command not in REPORTS:
            raise click.UsageError(f"no report is written by {command!r}; {instead(command, REPORTS, 'fencepost')}")
        printed = schema_of(command)
    click.echo(json.dumps(printed, indent=1))
    return 0
