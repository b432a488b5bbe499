"""The command ``prove`` proves the promises of one protocol or variant by induction, and prints a line for each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cases import cases_of
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.exits import code_of
from fencepost.proofs.cli.shared.gate import Gate, gated
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import FRESH, JSON, PROTOCOL, SECOND, chosen, complete_variant
from fencepost.proofs.cli.shared.output import SIGNS, console, duration, errors, read_from, verdict_sign
from fencepost.proofs.cli.shared.pages import HTML, attempted, write_pages
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.cli.shared.reading_lines import left_out, reading_lines
from fencepost.proofs.readings.words import leaning, name_in_words, say_obligation
from fencepost.properties.catalogue import PROFILES, Profile, ProtocolEntry, Variant, bounds_of
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import called
from rich.markup import escape

if TYPE_CHECKING:  # Z3, for which `--help` need not wait
    from fencepost.proofs.engines.induction import Proof
    from fencepost.proofs.engines.induction_counterexamples import Reached
    from fencepost.proofs.engines.obligations import Obligation
    from fencepost.proofs.engines.second.opinions import Opinion
    from fencepost.proofs.pages.stories import Story
    from fencepost.proofs.results import Result


TIMES = {"smoke": 1, "ci": 10, "nightly": 100}
"""Each profile multiplies the usual limit of Z3's work on one proof step by this factor."""


class CertificatesFolder(click.Path):
    """A `CertificatesFolder` is an option for a directory that is missing, is empty, or holds certificates."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from fencepost.proofs.engines.second.certificates import refusal

        folder = Path(str(super().convert(value, param, ctx)))
        if (why := refusal(folder)) is not None:
            self.fail(why, param, ctx)
        return folder


@click.command(cls=Configured)
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@click.option("--verbose", is_flag=True, help="Also read the proof aloud, a few lines an action.")
@click.option(
    "--profile", type=click.Choice(PROFILES), default="smoke", show_default=True,
    help="How long each step may take; what is left undecided may be decided by a larger one.",
)  # fmt: skip
@JSON
@gated
@HTML
@SECOND
@click.option(
    "--certificates", type=CertificatesFolder(), metavar="DIR",
    help="Write every step of the proofs in SMT-LIB 2, with cvc5's proof of it, for audit to check.",
)  # fmt: skip
@FRESH
@click.option("--readings", is_flag=True, help="Prove instead that what else executes the rules agrees with the terms.")
def prove(
    name: str, verbose: bool, profile: Profile, json_file: Path | None, gate: Gate, html_file: Path | None,
    second: str | None, certificates: Path | None, fresh: bool, readings: bool,
) -> int:  # fmt: skip
    """Prove the promises by induction, without any bound.

    The command prints a line for each promise, with the lemmas that its proof rests on, as few as each step of it
    needs. A promise that leans on a lemma that fails is not proved. A step that breaks the attempt is printed, and
    looked for among the states that the smoke profile explores. Example: fencepost prove id-blocks/kraft

    Steps of an action are read from the user's cache if neither the action nor what is assumed before and claimed after
    it has changed since an earlier run, and their number is printed. Where the environment has CI, all steps are proved
    again.

    With --verbose, the obligations are printed in words, those of one action with the same outcome in one line. In
    --json, each has its own entry.

    With --certificates, each step of a proof is stated in SMT-LIB 2, which any solver reads, next to cvc5's proof of
    it, if that is installed, and an index of what solvers answered. What was proved of a part is proved of the whole.
    What an earlier DIR has for the same statements stays. With --second-opinion cvc5, that solver is asked too.

    With --readings, no promise is proved. For each action, within the bounds of the smoke profile: what the explorer
    and the columns of replay execute is proved to have the guard and the successor that the Z3 term has, in all states,
    reachable or not; and plain Python is run in at most 3,000 reachable states, or 30,000 or 300,000 in the other
    profiles. A reading that differs in a state is printed with it, and the exit code is 1. With --second-opinion cvc5,
    that solver proves each again, and Ethos checks its proof if it is there; that takes a minute or more.
    """
    if readings:
        if html_file is not None or certificates is not None:
            raise click.UsageError("--readings proves no promise; leave out --html and --certificates")
        return _readings(name, profile, json_file, gate, second)
    from fencepost.proofs.engines.run_engines import cut_induction, run_induction
    from fencepost.proofs.engines.second.asking import Z3Again
    from fencepost.proofs.engines.second.certificates import Certificates
    from fencepost.proofs.engines.second.certificates import write as write_certificates
    from fencepost.proofs.engines.second.opinions import number_of_statements, run_second
    from fencepost.proofs.readings.solver.solving import RLIMIT

    made = Certificates() if certificates is None else Certificates.after(certificates)
    judged: list[Result] = []
    every: list[dict[str, Any]] = []
    stories: list[Story] = []
    of_second: list[Result] = []
    wrong, rlimit = 0, RLIMIT * TIMES[profile]
    asked = chosen(name)
    read = read_from(variant for _, variant in asked)
    under_way: list[tuple[ProtocolEntry, Variant, list[Obligation]]] = []  # with the obligations decided so far

    def rows() -> list[dict[str, Any]]:
        return every + [r for e, v, decided in under_way for r in _rows(cut_induction(e, v, decided), decided, read)]

    def write(*, interrupted: bool = False) -> None:
        gate.write(cases_of((entry for entry, _ in asked), judged), interrupted=interrupted)

    with reported(json_file, rows, further=lambda: write(interrupted=True)):
        for entry, variant in asked:
            console.print(f"{entry.name}/{variant.name}")
            decided: list[Obligation] = []
            under_way.append((entry, variant, decided))
            proof = _proved(entry, variant, rlimit, fresh, decided, verbose=verbose)
            results = run_induction(entry, variant, rlimit=rlimit, proof=proof)
            reached = reached_by_runs(variant, proof)
            for line in report_lines(entry, variant, proof, results, reached):
                console.print(line)
            for line in whether_broken(variant, proof, reached):
                console.print(line, markup=False)
            if html_file is not None:
                stories += attempted(entry, variant, reached)
            judged += results
            every += _rows(results, proof.obligations, read)
            under_way.clear()
            wrong += sum(not r.as_expected for r in results)
            opinions: list[Opinion] = []
            if second is not None:
                opinions = _second_opinion(entry, variant, proof)
                of_second += (rows_of_second := run_second(entry, variant, proof, opinions))
                judged += rows_of_second
                every += _rows_of_second(rows_of_second, opinions, read)
            if certificates is not None:
                with spinner(f"certifying {entry.name}/{variant.name}", number_of_statements(proof)) as bar:
                    made.add(entry, variant, proof, opinions, Z3Again(rlimit), bar.advance)
        disagreeing = sum(not r.as_expected for r in of_second) + len(made.disagreements)
        for sentence in made.disagreements:
            errors.print(f"[red]engines disagree:[/] {sentence}")
        besides = f", {disagreeing} on which the engines disagree" if disagreeing else ""
        console.print(f"{quantity(len(every) - len(of_second), 'property')}, {wrong} not proved{besides}")
        if certificates is not None:
            write_certificates(certificates, made, read)
            taken = f", {made.taken_over} taken over" if made.taken_over else ""
            which = f"{len(made.rows)} statements, {made.proofs} with cvc5's proof{taken}, in {str(certificates)!r}"
            audited = f"fencepost audit {certificates} checks them" if made.proofs else "for its proofs, install cvc5"
            console.print(f"{which}; {audited}", markup=False)
        write_pages(stories, html_file)
    write()
    return code_of([row["verdict"] for row in every if row["engine"] == "induction"], wrong + disagreeing)


def _readings(name: str, profile: Profile, json_file: Path | None, gate: Gate, second: str | None) -> int:
    from fencepost.proofs.engines.run_engines import run_readings
    from fencepost.proofs.engines.second.certified_readings import again, checker
    from fencepost.proofs.readings.equal.obligations import LEFT_OUT
    from fencepost.proofs.readings.equal.running import MOST

    judged: list[Result] = []
    asked = chosen(name)
    read = read_from(variant for _, variant in asked)

    def rows() -> list[dict[str, Any]]:
        return [{**r.as_dict(), "sources": read, "obligations": []} for r in judged]

    with reported(json_file, rows):
        for entry, variant in asked:
            title, bound = f"{entry.name}/{variant.name}", bounds_of(variant, "smoke")
            with spinner(f"comparing {title}") as bar:
                asks = partial(again, ethos=checker(), report=bar.advance) if second is not None else None
                results, left = run_readings(entry, variant, bound, MOST * TIMES[profile], bar.advance, asks)
            judged += results
            for line in reading_lines(title, results, bound, left):
                console.print(line, markup=False)
    for line in left_out(LEFT_OUT):
        console.print(line, markup=False)
    gate.write(cases_of((entry for entry, _ in asked), judged))
    return code_of([r.verdict for r in judged], sum(not r.as_expected for r in judged))


def _proved(
    entry: ProtocolEntry, variant: Variant, rlimit: int, fresh: bool, decided: "list[Obligation]", *, verbose: bool
) -> "Proof":
    """Return the proof of a variant. Obligations are appended to ``decided`` when they are decided."""
    from fencepost.proofs.engines.induction import number_of_obligations
    from fencepost.proofs.engines.induction import prove as induction
    from fencepost.proofs.engines.obligation_cache import CachedSteps

    title, aloud = f"{entry.name}/{variant.name}", Aloud()
    with spinner(f"proving {title}", number_of_obligations(variant.spec, variant.promised)) as bar:

        def progress(o: "Obligation") -> None:
            bar.advance()
            decided.append(o)
            for line in aloud.takes(o) if verbose else ():
                console.print(line)

        cache = CachedSteps.of(title, variant.spec, rlimit, fresh=fresh)
        proof = induction(variant.spec, variant.promised, rlimit=rlimit, progress=progress, cache=cache)
        if cache is not None:
            cache.write()
        for line in aloud.rest() if verbose else ():
            console.print(line)
    return proof


def _rows(
    results: "Sequence[Result]", obligations: "Sequence[Obligation]", read: dict[str, str]
) -> list[dict[str, Any]]:
    return [{**r.as_dict(), "sources": read, "obligations": _spelled(obligations, r)} for r in results]


def _second_opinion(entry: ProtocolEntry, variant: Variant, proof: "Proof") -> "list[Opinion]":
    from fencepost.proofs.engines.second.asking import require_cvc5
    from fencepost.proofs.engines.second.opinions import disagreements, number_of_statements, opinions
    from fencepost.proofs.engines.second.statements import title_of

    title = title_of(entry, variant)
    with spinner(f"asking cvc5 of {title}", number_of_statements(proof)) as bar:
        asked = opinions(entry, variant, proof, report=lambda _: bar.advance())
    agreed = sum(o.verdict == "holds" for o in asked)
    spent = duration(sum(o.answer.seconds for o in asked))
    heading = f"second opinion, cvc5 {require_cvc5()}"
    console.print(f"    {heading:<34} agrees on {agreed} of {len(asked)} obligations, {spent}", markup=False)
    for o in asked:
        if o.verdict == "unknown":
            console.print(f"        cvc5 gives up on: {o.statement.says}, since {o.answer.why}", markup=False)
    for sentence in disagreements(title, asked):
        errors.print(f"[red]engines disagree:[/] {sentence}")
    return asked


def _rows_of_second(
    results: "Sequence[Result]", asked: "Sequence[Opinion]", read: dict[str, str]
) -> list[dict[str, Any]]:  # fmt: skip
    from fencepost.proofs.engines.second.opinions import DEAD

    found = []
    for r in results:
        name = "" if r.property == DEAD else r.property
        mine = [o for o in asked if o.statement.obligation.property == name]
        steps = [
            {
                "says": o.statement.says, "kind": o.statement.obligation.kind, "action": o.statement.obligation.action,
                "verdict": o.verdict, "how": "cvc5", "seconds": round(o.answer.seconds, 4),
                "uses": list(o.statement.obligation.uses),
            }
            for o in mine
        ]  # fmt: skip
        found.append({**r.as_dict(), "sources": read, "obligations": steps})
    return found


def report_lines(
    entry: ProtocolEntry, variant: Variant, proof: "Proof", results: Sequence["Result"],
    reached: "Sequence[tuple[Obligation, Reached | None]]",
) -> Iterator[str]:  # fmt: skip
    """Yield the lines on a proof, in Rich's markup. ``reached`` has the steps that break it, with what exploration
    finds about them."""
    from fencepost.proofs.scope.scopes import scope_lines

    yield from summary(results, frozenset(_broken(proof, reached)))
    for broken in variant.asked.keys() - variant.promised.keys():
        show = f'fencepost show {called(entry.name)}/{variant.name} "{name_in_words(broken)}"'
        yield f"    {name_in_words(broken):<34} not asked, as it is predicted to fail: {show}"
    if dates := [o.cached for o in proof.obligations if o.cached]:
        of_all = f"{len(dates)} of {len(proof.obligations)}"
        yield f"    {of_all} steps kept since {min(dates)}; nothing that they depend on has changed"
    yield from (f"    {escape(line)}" for line in scope_lines(results))


def summary(results: Sequence["Result"], broken: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a line for each promise and step property, one for all lemmas, and one for the question whether actions can
    happen. ``broken`` names the properties that some run breaks. The proof of any other violated property has merely
    failed."""

    def verdict(r: "Result") -> str:
        return "not proved" if r.verdict == "violated" and r.property not in broken else r.verdict

    lemmas = [r for r in results if r.evidence.get("role") == "lemma"]
    for r in results:
        if r not in lemmas and r.kind != "sometimes":
            yield f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, verdict(r))}{leaning(r)}{_resting(r)}"
    if lemmas:
        counts = Counter(map(verdict, lemmas))
        failing = ", ".join(name_in_words(r.property) for r in lemmas if r.verdict in ("violated", "unknown"))
        words = [f"{n} {SIGNS[v]}" for v, n in counts.items()] if set(counts) != {"holds"} else [SIGNS["holds"]]
        having = sum("inherited" in r.evidence for r in lemmas)
        number = quantity(len(lemmas), "lemma") + (f", {having} inherited" if having else "")
        yield f"    {number:<34} {', '.join(words)}" + (f": {failing}" if failing else "")
    for r in results:
        if r.kind == "sometimes":
            yield f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, r.verdict)}{leaning(r)}"


def _resting(result: "Result") -> str:
    if result.verdict != "holds":
        return ""
    names = [name_in_words(name) for name in result.evidence["rests_on"]]
    if part := result.evidence.get("inherited"):
        return f", inherited from {part['part']}, as {part['protocol']} is proved (model {part['model']})"
    return f", resting on {', '.join(names)}" if names else ", of itself"


def reached_by_runs(variant: Variant, proof: "Proof") -> "list[tuple[Obligation, Reached | None]]":
    """Return each step that breaks the attempt, with what exploration finds about it. The list is empty where the
    variant lacks some of the bounds that exploration needs and a proof does not."""
    from fencepost.proofs.engines.induction_counterexamples import reach
    from fencepost.proofs.readings.ground import BoundsError

    try:
        return list(reach(variant.spec, variant.promised, bounds_of(variant, "smoke"), proof.failures))
    except (KeyError, BoundsError):
        return []


def _broken(proof: "Proof", reached: "Iterable[tuple[Obligation, Reached | None]]") -> Iterator[str]:
    for failed in proof.failures:
        if failed.counterexample is not None and failed.counterexample.before is None:
            yield failed.property
    for failed, words in reached:
        if words is not None and words.steps is not None:
            yield failed.property


def whether_broken(
    variant: Variant, proof: "Proof", reached: "Iterable[tuple[Obligation, Reached | None]]"
) -> Iterator[str]:
    """Yield the steps that break a proof, in words, with what exploration finds about each."""
    from fencepost.proofs.engines.induction_counterexamples import narrate

    asked = {id(failed): words for failed, words in reached}
    for failed in proof.failures:
        yield ""
        yield from narrate(variant.spec, variant.promised, failed)
        words = asked.get(id(failed))
        if words is not None:
            yield from words.words(failed)
        elif id(failed) in asked:
            yield "  whether a run comes to it is open: it lies outside of the bounds of the smoke profile"
        elif failed.counterexample is not None and failed.counterexample.before is not None:
            yield "  whether a run comes to it is open: the variant has no bounds within which to look for one"


def _spelled(obligations: "Sequence[Obligation]", result: "Result") -> list[dict[str, Any]]:
    """Return a property's obligations for JSON. Obligations without a property belong to the question on actions."""
    name = "" if result.kind == "sometimes" else result.property
    return [
        {
            "says": say_obligation(o), "kind": o.kind, "action": o.action, "verdict": o.verdict, "how": o.how,
            "seconds": round(o.seconds, 4), "uses": list(o.uses), "kept": o.cached,
        }
        for o in obligations
        if o.property == name
    ]  # fmt: skip


class Aloud:
    """An `Aloud` prints a proof while it is made. Under each action, and under ``init``, obligations with the same
    outcome share a line with their properties, and each failed obligation has its own line."""

    def __init__(self) -> None:
        self.waiting: list[Obligation] = []

    def takes(self, o: "Obligation") -> Iterator[str]:
        """Take the next obligation, and yield the lines of the previous action if a new one begins."""
        if self.waiting and _heading(o) != _heading(self.waiting[0]):
            yield from self.rest()
        self.waiting.append(o)

    def rest(self) -> Iterator[str]:
        """Yield the lines of the obligations that were taken last."""
        alike: dict[tuple[str, str], list[Obligation]] = {}
        wrong = [o for o in self.waiting if o.verdict != "holds"]
        for o in self.waiting:
            if o.verdict == "holds":
                alike.setdefault((o.kind, o.how), []).append(o)
        if self.waiting:
            yield f"    {_heading(self.waiting[0])}"
        for (kind, how), those in alike.items():
            yield from _together(kind, how, those)
        for o in wrong:
            yield f"        {say_obligation(o)} … {SIGNS[o.verdict]}"
        self.waiting = []


def _heading(o: "Obligation") -> str:
    return name_in_words(o.action) or "invariant"


def _together(kind: str, how: str, those: "Sequence[Obligation]") -> Iterator[str]:
    names = list(dict.fromkeys(name_in_words(o.property) for o in those if o.property))
    text = f"ok {duration(sum(o.seconds for o in those))}" if how in ("solver", "stated") else f"ok {how}"
    if not names:
        yield f"        {'never happens' if kind == 'dead' else 'can happen'} … {text}"
    elif how == "unchanged":
        yield f"        writes nothing that {len(names)} other properties read"
    elif len(names) == 1:
        yield f"        {_BEGINS[kind]} {names[0]} … {text}"
    else:
        yield f"        {_BEGINS[kind]} {quantity(len(names), 'property')} … {text}"
        yield from wrap(", ".join(names), WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 12)


_BEGINS = {
    "initial": "satisfies", "preserved": "preserves", "step": "obeys", "inherited": "has",
    "follows": "has as a consequence", "antecedent": "satisfies the premises of",
}  # fmt: skip
WIDTH = 110
"""Lines with many names are wrapped at this width."""
