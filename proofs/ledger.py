"""The table of verdicts: every rule of a protocol, what it says, and what is known of it, as Markdown.

Mechanisms and rejected alternatives are judged by `necessity`, promises and claims by proof; interface rules are held
by tests of the reference implementation, which cite them.  Nothing here is a verdict of its own.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fencepost.model.rules import RULES, Rule
from fencepost.proofs.explore import explore
from fencepost.proofs.held import tests_of
from fencepost.proofs.induction import prove
from fencepost.proofs.necessity import Necessity
from fencepost.proofs.progress import check_progress
from fencepost.proofs.words import name_in_words
from fencepost.properties.catalogue import Claim, ProtocolEntry, Variant, features_of

HEAD = "| rule | kind | what it says | verdict |\n|---|---|---|---|\n"


def ledger(entries: Sequence[ProtocolEntry], judged: Sequence[Necessity], tests: Path | None = None) -> str:
    """The table of a protocol and its parts.  ``tests``: the folder in which interface rules are looked for, if there
    is one."""
    prefixes = {n.rule.split(".")[0] for n in judged}
    rules = [rule for number, rule in RULES.items() if number.split(".")[0] in prefixes]
    proofs: dict[str, str] = {}
    for entry in entries:
        for rule, words in _proved(entry).items():
            proofs[rule] = f"{proofs[rule]}, {words}" if rule in proofs else words
    rows = ((r, _verdict(r, judged, proofs, tests)) for r in rules)
    return HEAD + "".join(f"| {r.number} | {r.kind} | {r.says} | {verdict} |\n" for r, verdict in rows)


def _verdict(rule: Rule, judged: Sequence[Necessity], proofs: dict[str, str], tests: Path | None) -> str:
    if rule.kind == "interface":
        return _tested(rule.number, tests)
    mine = [n for n in judged if n.rule == rule.number]
    if rule.number in proofs:  # and where the guarantee ends, or is claimed too early, if that is shown
        shown = [n for n in mine if n.verdict == "shown" and rule.kind != "promise"]
        return "; ".join([proofs[rule.number], *_sentences(shown)])
    return "; ".join(dict.fromkeys(_sentences(mine))) or _tested(rule.number, tests)


def _sentences(mine: Iterable[Necessity]) -> Iterable[str]:
    """The strongest verdict first, each told once: the shortest run of those that break a promise."""
    found = list(mine)
    for verdict in ("necessary", "shown"):
        runs = [n for n in found if n.verdict == verdict and n.steps is not None]
        if runs:
            short = min(runs, key=lambda n: n.steps or 0)
            what = f"{name_in_words(short.promise or '')} fails in {short.steps} steps"
            yield f"**{verdict}**: {what} ({short.variant}: {short.mutation})"
    for verdict in ("liveness", "redundant", "survives-bounded", "refuted"):
        names = dict.fromkeys(n.mutation for n in found if n.verdict == verdict)
        if names:
            yield f"{verdict}: {', '.join(names)}"


def _proved(entry: ProtocolEntry) -> dict[str, str]:
    """Promises and claims: in which variants they are proved, and progress within which bounds it holds."""
    found: dict[str, dict[str, None]] = {}
    proved: dict[tuple[str, str], bool] = {}
    for variant in (v for v in entry.variants if v.main):
        verdicts = prove(variant.spec, variant.kept).verdicts if variant.proof else {}
        proved |= {(variant.name, name): verdict == "holds" for name, verdict in verdicts.items()}
        for name, item in variant.kept.items():
            if item.rule is None or RULES[item.rule].kind != "promise":
                continue
            words = found.setdefault(item.rule, {})
            if item.role == "promise" and variant.proof:
                words[f"{variant.name} {'**proved**' if verdicts[name] == 'holds' else verdicts[name]}"] = None
            elif item.role == "promise" and not words:
                words[f"{variant.name} {_explored(variant, name)}"] = None
            elif item.role == "progress" and variant.progress_bounds:
                words[f"{variant.name} {_progress(variant, name)}"] = None
    for claim in entry.claims:
        found.setdefault(claim.rule, {})[f"{_claimed(entry, claim, proved)} in {claim.variant}"] = None
    return {rule: ", ".join(words) for rule, words in found.items()}


def _claimed(entry: ProtocolEntry, claim: Claim, proved: dict[tuple[str, str], bool]) -> str:
    variant = entry.variant(claim.variant)
    if variant.proof:
        holds = all(proved.get((claim.variant, name), False) for name in claim.properties)
        return "**proved**" if holds else "not proved"
    progress = [name for name in claim.properties if variant.asked[name].role == "progress"]
    verdicts = {_explored(variant, name) for name in claim.properties if name not in progress}
    verdicts |= {_progress(variant, name).split(" ")[0] for name in progress}
    return "**holds-bounded**" if verdicts == {"**holds-bounded**"} else "violated"


def _explored(variant: Variant, name: str) -> str:
    """Of a promise that no core has: every reachable state within bounds, one feature at a time."""
    asked = {name: variant.asked[name]}
    bounds = features_of(variant, "smoke").values()
    return "violated" if any(explore(variant.spec, asked, b).violated for b in bounds) else "**holds-bounded**"


def _progress(variant: Variant, name: str) -> str:
    asked = {name: variant.asked[name]}
    verdicts = [check_progress(explore(variant.spec, asked, bound))[name].verdict for bound in variant.progress_bounds]
    return "**holds-bounded**" if set(verdicts) == {"holds"} else "violated"


def _tested(number: str, tests: Path | None) -> str:
    """The files of the tests that are marked with the rule, and so fail when it is broken."""
    if tests is None:
        return "held by tests of the reference implementation"
    files = dict.fromkeys(name.split("::")[0].rsplit("/")[-1] for name in tests_of(number, tests))
    return f"held by {', '.join(files)}" if files else "not tested"
