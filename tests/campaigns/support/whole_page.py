"""The campaigns of the whole system in Markdown."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

ASKED = 100_000_000, 5_000_000
"""Events that are wanted: of the system as it is, and of each defect before it counts as one that nothing notices."""
OUTSIDE = """Outside: fetching by messages, so that a reader reads at once what a log has; replication; a broker that
crashes as a whole; users that alter offsets; aborts and dropped records of a source."""

_COMMITS = "`SourceTask.commit` is not in the system: it is driven and simulated by itself (source-commits)"
_MIGRATED = "of the text that copies offsets; the system merges both topics, as what shipped does"
WITHOUT: Mapping[str, str] = {
    "447.19": "what is planted is a control: the newer one is fenced by it, and begins anew",
    "618.14": "of revision A; the system runs what shipped",
    "618.30": _MIGRATED,
    "618.35": "no worker of the system is upgraded",
    "618.44": "of revision M; the system runs what shipped",
    "618.45": _MIGRATED,
    **dict.fromkeys(("src.2", "src.3", "src.4", "src.5", "src.10", "src.11", "src.12"), _COMMITS),
    "txn.16": "what is planted holds up progress, or is noticed by the model alone",
}
"""Of rules that are necessary for a safety promise and of which no defect here breaks one: why."""

Reported = Mapping[str, Any]


def page(
    clear: Reported, broken: Sequence[Reported], necessary: Mapping[str, Collection[str]], chosen: Mapping[str, str]
) -> str:
    """Both campaigns; `necessary`: by rule, the numbers of the safety promises that break without it in a model;
    `chosen`: the defects that break a promise and are to be searched for, with their rules."""
    return "\n".join([
        "# The whole system: everything at once, and each rule broken in it",
        "",
        "Made by `tests/campaigns/support/whole_campaign.py page` from what its campaigns have kept.",
        "",
        OUTSIDE,
        "",
        *_clear(clear),
        *_broken(broken, necessary, chosen),
        "",
    ])  # fmt: skip


def _clear(kept: Mapping[str, Any]) -> Iterator[str]:
    """The system as it is."""
    batches, summary = kept["batches"], kept["summary"]
    dates = sorted({one["date"] for one in batches})
    commits = list(dict.fromkeys(one["commit"] for one in batches))
    seeds = [one["seed"] for one in batches]
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    yield f"{summary['events']:,} events in {summary['histories']:,} histories were generated and replayed, at commit"
    yield f"{' and '.join(commits)}, with seeds {min(seeds)} to {max(seeds)}, on {when}."
    violations = summary["violations"]
    if summary["events"] < ASKED[0]:
        share = summary["events"] / ASKED[0]
        yield f"Wanted are {ASKED[0]:,} events: this is {share:.1%} of them, and the campaign goes on from here."
    yield f"Violated: {', '.join(violations) if violations else 'nothing'}."
    took = sum(one["generate_seconds"] for one in batches), sum(one["replay_seconds"] for one in batches)
    yield f"One core generated them in {took[0]:,} s, and judged them in {took[1]:,} s."
    yield ""
    yield "| told in the words of | events | histories that its model did not follow to their ends |"
    yield "|---|---|---|"
    for name, events in summary["by_vocabulary"].items():
        yield f"| {name} | {events:,} | {summary['undecided'].get(name, 0):,} |"
    yield ""
    yield "Faults: " + ", ".join(f"{count:,} {name}" for name, count in summary["faults"].items()) + "."
    yield ""
    never = summary["never_judged"]
    yield f"Properties that had nothing to judge: {', '.join(never) if never else 'none'}."
    for name, names in summary["not_decidable_here"].items():
        yield f"Not to be decided in the words of {name}, and told in others: {', '.join(names).replace('_', ' ')}."
    yield ""
    yield "How often there was something to judge:"
    yield ""
    yield "| in the words of | property | judged |"
    yield "|---|---|---|"
    for protocol, counts in summary["judged"].items():
        for name, count in sorted(counts.items()):
            yield f"| {protocol} | {name.replace('_', ' ')} | {count:,} |"
    yield ""


def _broken(
    done: Sequence[Reported], necessary: Mapping[str, Collection[str]], chosen: Mapping[str, str]
) -> Iterator[str]:
    """What came of the defects."""
    commits = list(dict.fromkeys(one["commit"] for one in done))
    there = set(chosen.values()) & necessary.keys()
    breaking = [one for one in done if one["breaks"] == "promise"]
    named = {one["rule"] for one in done if one["named"]} & there
    yield "## Each rule broken"
    yield ""
    yield f"{len(breaking)} of {len(chosen)} defects and {len(done) - len(breaking)} controls were searched for, at"
    yield f"commit {' and '.join(commits)}. *Named*: it is a promise that necessity names for the rule, or that an"
    yield "exploration without it breaks later, by its number or as the history property that states it. *Smallest*:"
    yield "the fewest events of a history that was found to show it."
    yield ""
    yield f"Necessary for a safety promise are {len(necessary)} rules. Of {len(there)} of them a defect is in the"
    yield f"system, and of {len(named)} one was noticed by a promise that necessity names."
    tried = {one["rule"] for one in breaking} & there
    yield f"Searched for and not noticed so: {_listed(tried - named)}. Not searched for yet: {_listed(there - tried)}."
    yield f"Without a defect that breaks a promise here: {_listed(necessary.keys() - there)}."
    reasons: dict[str, list[str]] = {}
    for rule in necessary.keys() - there:
        reasons.setdefault(WITHOUT.get(rule, "the reason is not written down"), []).append(rule)
    yield ""
    yield from sorted(f"- {_listed(rules)}: {why}." for why, rules in reasons.items())
    yield ""
    alarms = [
        f"{one['defect']} (by {one['first']['property']}, {one['first']['rule']})"
        for one in done if one["breaks"] == "nothing" and one["first"]
    ]  # fmt: skip
    yield f"Controls that raise an alarm: {', '.join(alarms) if alarms else 'none'}."
    short = sum(one["breaks"] == "promise" and not one["named"] and one["events"] < ASKED[1] for one in done)
    yield f"Wanted are {ASKED[1]:,} events of each that is not noticed so: {short} have had fewer."
    yield ""
    yield "| rule | defect | violated | after events | named | smallest |"
    yield "|---|---|---|---|---|---|"
    for one in sorted(done, key=_place):
        reported = one["named"] or one["first"]
        named = "yes" if one["named"] else "nothing" if not one["necessity_names"] else "no"
        if reported:
            least = f"{one['smallest']['events']:,}" if one.get("smallest") else ""
            found = f"{reported['property']} ({reported['rule']}) | {reported['events']:,} | {named} | {least} |"
            yield f"| {one['rule']} | {one['defect']} | {found}"
        else:
            why = "a control" if one["breaks"] == "nothing" else "not noticed"
            yield f"| {one['rule']} | {one['defect']} | {why} | {one['events']:,} | | |"


def _listed(rules: Iterable[str]) -> str:
    return ", ".join(sorted(rules, key=lambda rule: _place({"rule": rule}))) or "none"


def _place(one: Mapping[str, Any]) -> tuple[str, int]:
    """Rules in the order of their numbers."""
    source, _, number = one["rule"].partition(".")
    return source, int("0" + number.strip("P"))
