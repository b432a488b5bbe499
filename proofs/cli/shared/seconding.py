"""What `prove` says of cvc5's opinion, and the directory of certificates as an option."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.output import console, duration, errors
from fencepost.proofs.cli.shared.progress import spinner

if TYPE_CHECKING:  # Z3, for which `--help` need not wait
    from fencepost.proofs.engines.induction import Proof
    from fencepost.proofs.engines.second.opinions import Opinion
    from fencepost.proofs.results import Result
    from fencepost.properties.catalogue import ProtocolEntry, Variant


class CertificatesFolder(click.Path):
    """A directory that is not there, or is empty, or holds certificates; any other is refused before the work
    begins."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from fencepost.proofs.engines.second.certificates import refusal

        folder = Path(str(super().convert(value, param, ctx)))
        if (why := refusal(folder)) is not None:
            self.fail(why, param, ctx)
        return folder


CERTIFICATES = click.option(
    "--certificates", type=CertificatesFolder(), metavar="DIR",
    help="Write every step of the proofs as an SMT-LIB 2 file, with an index.",
)  # fmt: skip


def second_opinion(entry: "ProtocolEntry", variant: "Variant", proof: "Proof") -> "list[Opinion]":
    """Asks cvc5 what is proved, and prints what it says."""
    from fencepost.proofs.engines.second.asking import require_cvc5
    from fencepost.proofs.engines.second.opinions import disagreements, number_of_statements, opinions, title_of

    title = title_of(entry, variant)
    with spinner(f"asking cvc5 of {title}", number_of_statements(proof)) as bar:
        asked = opinions(entry, variant, proof, told=lambda _: bar.advance())
    agreed = sum(o.verdict == "holds" for o in asked)
    spent = duration(sum(o.answer.seconds for o in asked))
    heading = f"second opinion, cvc5 {require_cvc5()}"
    console.print(f"    {heading:<34} agrees on {agreed} of {len(asked)} obligations, {spent}", markup=False)
    for line in _given_up(asked):
        console.print(f"    {line}", markup=False)
    for sentence in disagreements(title, asked):
        errors.print(f"[red]engines disagree:[/] {sentence}")
    return asked


def _given_up(asked: "Sequence[Opinion]") -> Iterator[str]:
    for o in asked:
        if o.verdict == "unknown":
            yield f"    cvc5 gives up on: {o.statement.says}, since {o.answer.why}"


def rows(
    results: "Sequence[Result]", asked: "Sequence[Opinion]", read: dict[str, str]
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of the report, each with its obligations as cvc5 decided them."""
    from fencepost.proofs.engines.second.opinions import DEAD

    found = []
    for r in results:
        name = "" if r.property == DEAD else r.property
        mine = [o for o in asked if o.statement.obligation.property == name]
        found.append({**r.as_dict(), "sources": read, "obligations": [_step(o) for o in mine]})
    return found


def _step(o: "Opinion") -> dict[str, Any]:
    of = o.statement.obligation
    return {
        "says": o.statement.says, "kind": of.kind, "action": of.action, "verdict": o.verdict, "how": "cvc5",
        "seconds": round(o.answer.seconds, 4), "uses": list(of.uses),
    }  # fmt: skip
