"""This module defines the types of what each command's ``--json`` writes.

The type checker holds the writers to these types, ``fencepost schema`` prints them as JSON Schema, and the tests check
every report against that. The version (`SCHEMA` in `report`) increases when a field changes its meaning or is removed,
but not when a field is added. A report that is an object has the version in its field ``schema``; a report that is a
list has rows of one type."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, NotRequired, TypedDict, TypeVar, get_origin

import msgspec
from fencepost.proofs.necessity.search import Judgement
from fencepost.proofs.report import SCHEMA
from fencepost.proofs.results import Verdict
from fencepost.proofs.scope.findings import Finding
from fencepost.proofs.scope.matrix import Line
from fencepost.proofs.scope.releases import Cell
from fencepost.properties.catalogue import Profile
from msgspec import Meta

Kind = Literal["always", "step", "sometimes", "eventually", "history", "agreement", "reading"]
Engine = Literal["induction", "explore", "progress", "agreement", "replay", "equal", "second-opinion"]
Protocol = Annotated[str, Meta(description="A protocol by name, such as id-blocks.")]
Variant = Annotated[str, Meta(description="A variant of the protocol by name, such as kraft.")]
Property = Annotated[str, Meta(description="By its name in the code: ids_unique where `ids unique` is printed.")]
Rule = Annotated[str, Meta(description="A rule's number, such as 730.7 or txn.P1.")]
Seed = Annotated[int, Meta(description="The same seed gives the same report, timings aside.")]
Seconds = Annotated[float, Meta(description="How long it took.")]
Sources = Annotated[dict[str, str], Meta(description="The files that were judged, each with a hash of its text.")]
Bounds = Annotated[dict[str, int], Meta(description="Bounds by name, within which states were looked at.")]
Interrupted = Annotated[bool, Meta(description="Was it interrupted?  Then this is what was found up to there.")]
Taken = Annotated[dict[str, Any], Meta(description="What was taken from [tool.fencepost], and from which file.")]
Version = Annotated[int, Meta(description="The version of this schema.")]
Dangers = Annotated[list[str], Meta(description="Dangers by name; `fencepost dangers` explains them.")]
Excused = Annotated[dict[str, str], Meta(description="Dangers that were met under a condition alone, with that.")]


class VerdictRow(TypedDict):
    """A `VerdictRow` is one verdict of one engine on one property of one variant."""

    protocol: Protocol
    variant: Variant
    property: Property
    kind: Kind
    engine: Engine
    verdict: Annotated[Verdict, Meta(description="Of a witness (kind sometimes), holds says that it is reached.")]
    expected: Annotated[Verdict, Meta(description="What the documents say.")]
    bound: Annotated[dict[str, int] | None, Meta(description="The bounds; null where there are none.")]
    seconds: Seconds
    evidence: Annotated[dict[str, Any], Meta(description="What the engine has to show: steps, words …")]
    scope: Annotated[
        list[str],
        Meta(description="Dangers that the engine met; of a search, where it can be broken."),
    ]
    out: Annotated[list[str], Meta(description="All other dangers.")]
    excused: Excused
    cached: Annotated[
        str | None, Meta(description="When it was computed, of a verdict that an earlier run kept; else null.")
    ]
    leans_on: NotRequired[
        Annotated[list[str], Meta(description="Of `not proved`: what it leans on, and is not shown.")]
    ]


class ProvedStep(TypedDict):
    """A `ProvedStep` is one obligation of a proof by induction."""

    says: Annotated[str, Meta(description="As a sentence.")]
    kind: Annotated[str, Meta(description="initial, preserved, step, follows, antecedent, enabled, dead or inherited.")]
    action: Annotated[str, Meta(description="`init` for initial states; empty where none is meant.")]
    verdict: Verdict
    how: Annotated[str, Meta(description="solver, unchanged or inherited; of a second opinion, cvc5.")]
    seconds: Seconds
    uses: Annotated[list[str], Meta(description="The properties that the proof needed before the step.")]
    kept: NotRequired[
        Annotated[str | None, Meta(description="When it was proved, of a step that an earlier run kept; else null.")]
    ]


class ProvedRow(VerdictRow):
    """A `ProvedRow` is a verdict of induction, or of a second opinion on it. Obligations that are about actions alone
    are with `every_action_can_happen`, or with `dead_actions_never_happen`."""

    configuration: NotRequired[Taken]
    sources: Sources
    obligations: Annotated[list[ProvedStep], Meta(description="All that had to be proved for it.")]


class Verify(TypedDict):
    """A `Verify` report contains every verdict of a run."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: NotRequired[Interrupted]
    version: Annotated[str, Meta(description="Of fencepost.")]
    seed: Seed
    profile: Profile
    sources: Sources
    results: list[VerdictRow]


class Explored(TypedDict):
    """An `Explored` report describes the exploration of all states of one variant within bounds."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: NotRequired[Interrupted]
    protocol: Protocol
    variant: Variant
    bound: Bounds
    distinct: Annotated[int, Meta(description="States.")]
    generated: Annotated[int, Meta(description="Steps between them.")]
    depth: Annotated[int, Meta(description="Steps to the state that is farthest from the start.")]
    seconds: Seconds
    symmetry: NotRequired[Annotated[list[str], Meta(description="Bounds of the sorts whose names do not count.")]]
    partial_order: NotRequired[Annotated[bool, Meta(description="Were steps left out that no property can narrate?")]]
    resumed: NotRequired[Annotated[int, Meta(description="How many of the states an earlier search has kept.")]]
    compile_seconds: NotRequired[Annotated[float, Meta(description="How long what came before the search took.")]]
    complete: Annotated[bool, Meta(description="Are the verdicts of every state within the bounds?")]
    levels: Annotated[list[int], Meta(description="New states by depth.")]
    verdicts: dict[str, Verdict]
    cut: Annotated[dict[str, int], Meta(description="By action, steps that lead beyond the bounds and were not taken.")]
    traces: Annotated[dict[str, list[str]], Meta(description="By property, a shortest run that breaks or reaches it.")]
    sources: Sources
    scope: NotRequired[Dangers]
    out: NotRequired[Dangers]
    excused: NotRequired[Excused]


class CutSet(TypedDict):
    """A cut set is a set of rules without which, all together, a promise fails."""

    promise: Property
    rules: list[Rule]
    steps: int
    minimal: bool


class OfRule(TypedDict):
    """An `OfRule` object lists what is known of a rule from sets of rules."""

    cut_sets: list[CutSet]
    must: Annotated[list[str], Meta(description="Promises for whose proof the rule is in every set that suffices.")]
    may: Annotated[list[str], Meta(description="Promises for whose proof it is in some.")]


class Mutated(TypedDict):
    """A `Mutated` row is one mutation of a rule with its verdict, and with what sets of rules imply where they are
    stored."""

    variant: Variant
    rule: Rule
    mutation: str
    verdict: Judgement
    promise: Annotated[str | None, Meta(description="What fails.")]
    engine: str
    steps: Annotated[int | None, Meta(description="Of the shortest run that shows it.")]
    bound: dict[str, int] | None
    evidence: list[str]
    kept: Annotated[bool, Meta(description="Is it of an earlier run on the same models?")]
    sources: Sources
    cut_sets: NotRequired[list[CutSet]]
    must: NotRequired[list[str]]
    may: NotRequired[list[str]]


class SetsOfRule(OfRule):
    """A `SetsOfRule` row is what ``necessity --mutations sets`` reports on one rule of one proved variant."""

    protocol: Protocol
    variant: Variant
    model: Annotated[str, Meta(description="A hash of the model.")]
    rule: Rule
    sources: Sources


class KeptRow(TypedDict):
    """A `KeptRow` is a run that breaks a property without some rules."""

    property: Property
    without: Annotated[list[list[str]], Meta(description="Rules, each with the mutation of it.")]
    feature: str
    steps: list[str]
    loop: NotRequired[int]


class Kept(TypedDict):
    """A `Kept` report contains the stored runs of one variant."""

    protocol: Protocol
    variant: Variant
    runs: list[KeptRow]
    without: Annotated[list[str], Meta(description="Promises that nothing breaks.")]
    unbroken: Annotated[
        dict[str, list[str]], Meta(description="By promise, the features in whose bounds nothing is known to break it.")
    ]


class Simulated(TypedDict):
    """A `Simulated` report describes random walks through a model."""

    schema: Version
    interrupted: NotRequired[Interrupted]
    variant: Annotated[str, Meta(description="PROTOCOL/VARIANT.")]
    seed: Seed
    aims: tuple[str, ...]
    bounds: Bounds
    promise: Annotated[str | None, Meta(description="The one that broke.")]
    steps: int
    examples: Annotated[int, Meta(description="Walks.")]
    actions: Annotated[dict[str, int], Meta(description="How often each action was taken.")]
    run: Annotated[list[str] | None, Meta(description="The run that breaks it.")]
    found_in: Annotated[int, Meta(description="How many steps the run had as it was found; 0 where none was.")]
    shortest: Annotated[bool, Meta(description="Whether a search has seen that no run is shorter.")]
    sources: Sources


class Agreed(TypedDict):
    """An `Agreed` report is about an implementation that was checked against a model."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: NotRequired[Interrupted]
    implementation: Annotated[str, Meta(description="MODULE:FACTORY.")]
    protocol: Protocol
    variant: Variant
    regressions: Annotated[
        dict[str, Any] | None, Meta(description="Kept runs of the model that were played: how many, and why not all.")
    ]
    observe: Annotated[str, Meta(description="all of what it shows was looked at, or what a black-box shows.")]
    observed: Annotated[list[str], Meta(description="The kinds of event that were looked at.")]
    model: Annotated[str, Meta(description="The model that was followed; none where promises alone were asked for.")]
    seed: Seed
    verdict: Annotated[
        str, Meta(description="holds, violated, differs (from the model, and breaks no promise) or unknown.")
    ]
    examples: Annotated[int, Meta(description="Systems that were driven.")]
    program: Annotated[str, Meta(description="Of a violation: Python that fails when it is pasted.")]
    lacks: Annotated[list[str], Meta(description="What the implementation need not have, and lacks: not asked of it.")]
    predicted: Annotated[dict[str, str], Meta(description="By rule, programs of predicted violations.")]
    excused: Annotated[
        dict[str, dict[str, int]],
        Meta(description="By promise, the systems in which it was broken as predicted, by the rule that allows it."),
    ]
    dangers: Annotated[dict[str, int], Meta(description="How often each danger was met.")]
    never: Annotated[dict[str, list[str]], Meta(description="What of the model was never reached, by kind.")]
    seconds: Seconds
    failure: Annotated[str | None, Meta(description="What was seen, and which rule it breaks.")]
    bootstrap: Annotated[str | None, Meta(description="The brokers that were driven.")]
    sources: Sources
    followed: Annotated[float | None, Meta(description="The share of systems that the model followed to their end.")]
    least: Annotated[float | None, Meta(description="The least share that is asked for.")]
    beyond: Annotated[dict[str, int], Meta(description="Why the model did not follow, with how often.")]
    compared: Annotated[float | None, Meta(description="The share of the calls that were held against the model.")]
    least_compared: Annotated[float, Meta(description="The least share that is asked for.")]
    differences: Annotated[list[dict[str, str]], Meta(description="What differs from the model and breaks no promise.")]
    undecided: Annotated[
        list[dict[str, str]], Meta(description="What broke a promise if nothing was left to happen, and not again.")
    ]
    ended: Annotated[str | None, Meta(description="Why the search ended before its time, if it did.")]
    untried: Annotated[list[str], Meta(description="Actions that no run took, though some were aimed at them.")]


class Generated(TypedDict):
    """A `Generated` report describes generated histories. An interrupted command reports no histories, since a
    directory of histories is written completely or not at all."""

    schema: Version
    interrupted: NotRequired[Interrupted]
    events: int
    histories: int
    seed: Seed
    faults: Annotated[dict[str, int], Meta(description="How often each fault was injected.")]
    broken: NotRequired[Annotated[dict[str, int], Meta(description="Runs of a model in which each promise broke.")]]
    datasets: NotRequired[Annotated[dict[str, int], Meta(description="By vocabulary, the events of its dataset.")]]


class FirstViolation(TypedDict):
    """A `FirstViolation` is the least violation by history and step."""

    history: int
    step: Annotated[int, Meta(description="Of the event that violates, counted from 0.")]
    property: Property
    told: Annotated[str, Meta(description="In words, with the events.")]
    explained_by: Annotated[int, Meta(description="The step of the other event concerned; -1: none.")]


class Violated(TypedDict):
    """A `Violated` object describes the violations of one property."""

    count: int
    first: FirstViolation


class Rekeyed(TypedDict):
    """A `Rekeyed` object describes histories larger than a worker's memory that were judged in pieces."""

    histories: int
    events: int
    pieces: int
    limit: Annotated[int, Meta(description="Events in a piece, at most.")]
    keys: Annotated[dict[str, str], Meta(description="By property, in what events agree that stay together.")]


class Replayed(TypedDict):
    """A `Replayed` report is about histories that were checked against their properties and the model."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: NotRequired[Interrupted]
    events: int
    histories: int
    pieces: int
    judged: Annotated[dict[str, int], Meta(description="By property, the events looked at; of conformance, histories.")]
    violations: dict[str, Violated]
    unknown: Annotated[dict[str, str], Meta(description="Properties that were not decided, with the reason.")]
    not_promised: Annotated[dict[str, str], Meta(description="Properties that the mode does not know, and why.")]
    undecided: Annotated[dict[str, dict[str, int]], Meta(description="Histories not decided, by check and reason.")]
    predicted: Annotated[
        dict[str, dict[str, int]],
        Meta(
            description="By property, violations that the variant breaks by design, by the rule and step behind them."
        ),
    ]
    figures: dict[str, int]
    seconds: Seconds
    cpu_seconds: float
    dangers: dict[str, int]
    followed_by: Annotated[
        dict[str, dict[str, int]],
        Meta(description="By check, how many events columns or plain states followed; they agree."),
    ]
    rekeyed: Annotated[Rekeyed | None, Meta(description="Null where every history was judged as a whole.")]
    events_per_second: float
    sources: Sources
    required: list[str]
    unmet: Annotated[dict[str, str], Meta(description="Required properties that are not decided, and why.")]


class ReplayedSet(TypedDict):
    """A `ReplayedSet` report is about histories of one system in several vocabularies, each checked against its own
    protocol."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: NotRequired[Interrupted]
    datasets: Annotated[dict[str, Replayed], Meta(description="By vocabulary.")]


class Recorded(TypedDict):
    """A `Recorded` report describes a history made from a cluster's logs, or from what its clients saw. Fields that are
    missing were not asked for."""

    schema: Version
    interrupted: NotRequired[Interrupted]
    events: Annotated[dict[str, int], Meta(description="How many of each kind.")]
    unanswered: NotRequired[Any]
    notes: NotRequired[Any]
    bytes: NotRequired[int]
    seconds: NotRequired[Seconds]
    committed: NotRequired[Any]
    decidable: NotRequired[list[str]]
    undecidable: NotRequired[dict[str, str]]
    not_promised: NotRequired[dict[str, str]]


class BrokenBy(TypedDict):
    """A `BrokenBy` object is a promise that some run of a model breaks after an operator's decision."""

    promise: Property
    rule: Rule
    steps: Annotated[int, Meta(description="Of the shortest run after the decision; 0: the decision itself does.")]
    sure: Annotated[bool, Meta(description="Does the decision break it in every state that looks as the cluster does?")]
    run: Annotated[list[str], Meta(description="The steps after the decision.")]


class Decision(TypedDict):
    """A `Decision` object is what may follow in a model when an operator commits, aborts, fences, or does nothing."""

    decision: Literal[
        "commit", "abort", "commit both", "abort both", "retained", "resumed", "terminated", "stopped and terminated",
        "fenced", "left alone"
    ]  # fmt: skip
    possible: bool
    states: Annotated[int, Meta(description="How many were explored after it.")]
    complete: Annotated[bool, Meta(description="Was everything within the bounds explored?")]
    breaks: list[BrokenBy]


class Way(TypedDict):
    """A `Way` object is a model that reaches what is seen of an open transaction."""

    variant: Annotated[str, Meta(description="PROTOCOL/VARIANT.")]
    late_markers: Annotated[bool, Meta(description="Are markers taken that come late?")]
    store: Annotated[
        Literal["", "COMMIT", "ABORT", "NONE"],
        Meta(description="What the outside store has; empty of a transaction that has a time-out."),
    ]
    elsewhere: Annotated[list[str], Meta(description="Partitions that were looked at with the one that is open.")]
    bounds: Bounds
    states: Annotated[int, Meta(description="How many reachable states look so; all of them were explored from.")]
    complete: Annotated[bool, Meta(description="Were all reachable states within the bounds looked at?")]
    came: Annotated[list[str], Meta(description="A shortest run to one of them.")]
    decisions: list[Decision]


class Diagnosis(TypedDict):
    """A `Diagnosis` is one finding of the doctor."""

    kind: Annotated[
        str, Meta(description="duplicate, hanging, slow, undecided, fenced zombie, overdue, marker_without …")
    ]
    wrong: Annotated[bool, Meta(description="Does it break a rule?  What is slow, undecided or was fenced does not.")]
    says: Annotated[str, Meta(description="What happened, as a sentence.")]
    todo: Annotated[list[str], Meta(description="What to do, and what each decision may break.")]
    rules: Annotated[list[Rule], Meta(description="Those that it breaks.")]
    known: Annotated[list[str], Meta(description="Findings by name that do so on this release, with their status.")]
    topic: str
    partition: int
    offset: Annotated[int, Meta(description="-1: of no offset alone.")]
    transactional_id: Annotated[str, Meta(description="Empty if it is not known, or the producer has none.")]
    producer_id: int
    epoch: int
    time: Annotated[str, Meta(description="ISO 8601, UTC.")]
    first: Annotated[
        str, Meta(description="The earlier record that it repeats or contradicts: TOPIC-PARTITION@OFFSET.")
    ]
    futures: list[Way]


class Pair(TypedDict):
    """A `Pair` is two records of committed transactions with the same key and value."""

    first: str
    second: str
    key: str


class SameKey(TypedDict):
    """A `SameKey` object is about application duplicates, which no rule of the protocol forbids."""

    records: Annotated[int, Meta(description="Of committed transactions.")]
    repeated: Annotated[int, Meta(description="Those that have key and value of one in another transaction.")]
    pairs: Annotated[list[Pair], Meta(description="Some of them, compared byte by byte.")]


class Diagnosed(TypedDict):
    """A `Diagnosed` report says what is wrong with the transactions of a cluster."""

    schema: Version
    interrupted: NotRequired[Interrupted]
    source: Annotated[str, Meta(description="The brokers or directories that were read.")]
    release: Annotated[str, Meta(description="The column of the table of releases whose models were asked.")]
    transaction_version: str
    as_of: Annotated[str, Meta(description="The time of which the report is true.")]
    transactional_ids: int
    partitions: list[str]
    batches: int
    since: Annotated[str, Meta(description="The time of the oldest batch.")]
    until: str
    findings: list[Diagnosis]
    broken: Annotated[
        int, Meta(description="How many violations of rules the logs have; the first 1,000 are findings.")
    ]
    undecided: Annotated[list[str], Meta(description="What could not be read, a line each.")]
    same_key: NotRequired[SameKey]


class Standing(TypedDict):
    """A `Standing` is how one promise stands in an audit of certificates."""

    property: Property
    standing: Annotated[str, Meta(description="certified, agreed by cvc5, proved by Z3 alone, not proved or refused.")]
    steps: Annotated[int, Meta(description="That its proof needs.")]
    lemmas: Annotated[int, Meta(description="Other properties that its proof needs.")]


class Uncertified(TypedDict):
    """An `Uncertified` is a step that is not certified."""

    says: str
    standing: str
    why: str


class AuditedVariant(TypedDict):
    """An `AuditedVariant` is a variant of which a directory has certificates."""

    name: str
    steps: Annotated[int, Meta(description="That its induction needs.")]
    certified: int
    promises: list[Standing]
    rest: list[Uncertified]


class Audited(TypedDict):
    """An `Audited` report says what an independent checker found of a directory of certificates."""

    schema: Version
    interrupted: NotRequired[Interrupted]
    directory: str
    checker: Annotated[str, Meta(description="With its version, and a hash of its rules.")]
    variants: list[AuditedVariant]
    problems: Annotated[list[str], Meta(description="What was edited, is missing or is refused.")]


Rows = TypeVar("Rows")


class Cut(TypedDict, Generic[Rows]):
    """An interrupted command writes this object in place of a list."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: Interrupted
    found: Annotated[Rows, Meta(description="The rows that it had found.")]


class NothingYet(TypedDict):
    """A command that is interrupted before it has anything to report writes this object."""

    schema: Version
    configuration: NotRequired[Taken]
    interrupted: Interrupted


REPORTS: Mapping[str, tuple[Any, ...]] = {
    "verify": (Verify,),
    "releases": (list[Cell],),
    "prove": (list[ProvedRow],),
    "audit": (Audited,),
    "explore": (Explored, list[Explored]),
    "dangers": (list[Line],),
    "necessity": (list[Mutated], list[SetsOfRule]),
    "mutants": (list[Kept],),
    "simulate": (Simulated,),
    "agree": (Agreed,),
    "generate": (Generated,),
    "replay": (Replayed, ReplayedSet),
    "record": (Recorded,),
    "doctor": (Diagnosed,),
    "findings": (list[Finding],),
}
"""This mapping gives, by command, the types that ``--json`` may write: a list where several variants are reported on,
or where ``--mutations sets`` asks for one."""


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what a command's ``--json`` writes."""
    cut = [Cut[each] for each in REPORTS[command] if get_origin(each) is list]  # type: ignore[valid-type]
    every = (*REPORTS[command], *cut, NothingYet)
    found, parts = msgspec.json.schema_components(every, ref_template="#/$defs/{name}")
    [*forms] = found
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fencepost:{command}:{SCHEMA}",
        "title": f"fencepost {command} --json",
        "anyOf": forms,
        "$defs": parts,
    }
