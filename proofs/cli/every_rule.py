"""``necessity --all``: one table of every rule of every protocol, with the scope of each verdict.

What is kept beside the code of the models as they are is not searched again, and says so; what has changed since is.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.proofs.cli.shared.interrupts import when_interrupted
from fencepost.proofs.cli.shared.options import jobs_on
from fencepost.proofs.cli.shared.output import console, errors, folder_of_tests, line_of, read_from
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.report import cut_short, write_json, write_text
from fencepost.properties.catalogue import Profile, protocols, whole_of
from fencepost.properties.registry import PROTOCOLS

if TYPE_CHECKING:  # these import Z3, which `--help` need not wait for
    from fencepost.proofs.necessity.search import Necessity


def tell_all(profile: Profile, json_file: Path | None, table: Path | None, master: str | None) -> int:
    """Judge every protocol; exit code 1 where a mistake survives without a reason, or a rule has no verdict."""
    from fencepost.proofs.necessity.ledger import Row, Verdicts, rows
    from fencepost.proofs.necessity.search import number_of_verdicts, plan
    from fencepost.proofs.necessity.tables import FOLDER, Kept, digest_of, page_of_all

    wholes = [whole_of(entry) for name, entry in protocols().items() if name in PROTOCOLS]
    every: list[Necessity] = []
    sources = read_from(variant for entries in wholes for entry in entries for variant in entry.variants)
    made: list[Row] = []
    tests = folder_of_tests()

    def told(found: "Necessity") -> None:
        every.append(found)
        if not found.kept:
            console.print(line_of(found), markup=False)
        bar.advance()

    def so_far() -> None:
        if json_file is not None:
            write_json(json_file, cut_short(_document(every, sources)))

    number = sum(number_of_verdicts(entry) for entries in wholes for entry in entries)
    with (
        when_interrupted(so_far),
        spinner("necessity of every rule", number) as bar,
        jobs_on(master, number) as jobs,
    ):
        kepts = [Kept.read(FOLDER / f"{entries[0].name}.json") for entries in wholes]
        plans = [
            [verdict for entry in entries for verdict in plan(entry, profile, earlier=kept, jobs=jobs)]
            for entries, kept in zip(wholes, kepts, strict=True)
        ]
        for entries, kept, planned in zip(wholes, kepts, plans, strict=True):
            before = len(every)
            for verdict in planned:
                told(verdict())
            mine = every[before:]
            again = sum(found.kept for found in mine)
            console.print(
                f"{entries[0].name}: {len(mine)} verdicts, {again} of them cached by an earlier run on the same models"
            )
            made += rows(entries, mine, tests, Verdicts(kept.remember))
    if json_file is not None:
        write_json(json_file, _document(every, sources))
    text, without = page_of_all(made, {entries[0].name: digest_of(entries) for entries in wholes})
    if table is not None:
        write_text(table, text)
    if without:
        errors.print(f"without a verdict: {', '.join(without)}", markup=False)
    open_ones = ("survives-bounded", "refuted")
    return int(bool(without) or any(n.verdict in open_ones and not n.reason for n in every))


def _document(every: "Iterable[Necessity]", sources: Any) -> list[dict[str, Any]]:
    return [found.as_dict() | {"sources": sources} for found in every]
