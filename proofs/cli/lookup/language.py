"""The command ``language`` explains the words in which protocols are written."""

from pathlib import Path

import click
from fencepost.proofs.cli.shared.options import OutputFile
from fencepost.proofs.cli.shared.output import console, in_columns
from fencepost.proofs.report import write_text


@click.command()
@click.argument("name", metavar="[WORD]", required=False)
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write every word, in full, as Markdown.")
def language(name: str | None, table: Path | None) -> int:
    """Explain the words in which protocols are written.

    Without WORD, each word has its first sentence. With it, its form, what it means, and a line of a real model in
    which it stands, with the place. Example: fencepost language leads_to
    """
    from fencepost.proofs.authoring.language_reference import page, word, words

    if table is not None:
        write_text(table, page())
    if name is None:
        for line in in_columns([(each.name, each.sentence) for each in words().values()]):
            console.print(line, markup=False)
        return 0
    found = word(name)
    console.print(f"{found.form}\n\n{found.says}", markup=False)
    if found.example:
        console.print(f"\n{found.example.file}:{found.example.line}", markup=False)
        console.print("\n".join(f"    {line}" for line in found.example.text.splitlines()), markup=False)
    return 0
