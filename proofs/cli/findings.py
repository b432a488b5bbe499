"""``findings``: what was found out about systems that others wrote."""

from pathlib import Path

import click
from fencepost.proofs.cli.shared.options import JSON, OutputFile
from fencepost.proofs.cli.shared.output import console
from fencepost.proofs.report import write_json, write_text


@click.command()
@JSON
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write the ledger as Markdown.")
def findings(json_file: Path | None, table: Path | None) -> int:
    """List what was found out about real brokers and clients.

    Each finding has the version that it was seen on, the promises that it breaks, and the test that reproduces it.
    """
    from fencepost.proofs.scope.findings import FINDINGS, document, page

    for each in FINDINGS:
        console.print(f"{each.name} [{each.where}, {each.version}]", markup=False)
        console.print(f"    {each.status}; breaks {', '.join(each.breaks) or 'nothing'}; {each.program}", markup=False)
    if json_file is not None:
        write_json(json_file, document())
    if table is not None:
        write_text(table, page())
    return 0
