"""The command ``findings`` lists what was found out about systems that others wrote."""

from pathlib import Path

import click
from fencepost.proofs.cli.shared.options import JSON, OutputFile
from fencepost.proofs.cli.shared.output import console
from fencepost.proofs.report import write_json, write_text


@click.command()
@click.argument("name", metavar="[FINDING]", required=False)
@JSON
@click.option("--verbose", is_flag=True, help="Also what each is, breaks, and is reproduced by; and the known bugs.")
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write all of it as Markdown; or the explanation.")
def findings(name: str | None, json_file: Path | None, verbose: bool, table: Path | None) -> int:
    """List what was found out about brokers and clients, and where.

    Each was seen, or looked for in vain, by the test that is its program. The known bugs that the models and the
    reference implementation play are in --verbose, --table and --json. With the name of a finding, it is explained for
    those who would mend it: a shortest run, and what each repair is worth, computed anew.

    Example: fencepost findings "a removed task is started again"
    """
    if name is not None:
        if json_file is not None:
            raise click.UsageError("--json is of all findings; the explanation of one is written by --table FILE")
        from fencepost.proofs.scope.reports import report

        text = report(name)
        if table is None:
            console.print(text, markup=False, soft_wrap=True)
        else:
            write_text(table, text)
        return 0
    from fencepost.proofs.scope.findings import FINDINGS
    from fencepost.proofs.scope.findings_page import document, known_bugs, page, reproduced, summary

    if verbose:
        for each in FINDINGS:
            console.print(f"{each.name} [{each.where}, {each.version}]", markup=False)
            console.print(f"    {each.what}", markup=False)
            seen = f"seen on {', '.join(each.seen)}" + (f"; not on {', '.join(each.not_seen)}" if each.not_seen else "")
            console.print(f"    {seen}; last reproduced {reproduced(each)}", markup=False)
            console.print(
                f"    {each.status}; breaks {', '.join(each.breaks) or 'nothing'}; {each.program}", markup=False
            )
        console.print("known bugs")
        for each in known_bugs():
            console.print(f"    {each.name} [{each.where}; {each.status}; {each.means}] {each.program}", markup=False)
    else:
        for line in summary():
            console.print(line, markup=False, soft_wrap=True)
        console.print("--verbose has more of each, and the known bugs that the models play")
    if json_file is not None:
        write_json(json_file, document())
    if table is not None:
        write_text(table, page())
    return 0
