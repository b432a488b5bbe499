"""Each layer's defects in the whole system: after how many events which promise is broken, and the smallest history.

A rule's defects are tried in turn until one is noticed by what necessity says: a violated history property is of the
number of a promise that is broken in a model without the rule, or states that promise under another number.  The
verdicts that are kept (`proofs/verdicts`) name the promise that breaks soonest; `also_broken` finds the others.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from checked_out import ROOT
from fencepost.model.language.derived.mutations import mutations
from fencepost.proofs.necessity.search import all_broken
from fencepost.proofs.scale.replay import without_excused
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.traces.predicted import predicted_of
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES, Manifest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.trace_spec import CONFORMING
from fencepost.reference_impl.defects.end_to_end import FOLDERS, REGISTRY, Broken
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.systems.end_to_end import simulate
from whole_batches import hash_of, own_code

Histories = list[tuple[int, Mapping[str, list[Row]]]]

TOGETHER = 10
"""Histories that are judged at once."""
MOST, QUIET_AT = 12_000, 4_000
"""Events of the longest history, and until faults stop where the end is what matters."""
STATES = 1_000_000
"""Of each exploration for what else is broken without a rule: seconds, and the runs that were found are far shorter."""
TRIED = 12
"""Other histories that are tried, for a smaller one."""
FEW = 2
"""Of those, how many with each sort of fault left out."""
QUIETER = (
    "duplicate", "delay", "drop", "append_failure", "fail_over", "new_leader", "move_group", "member_restart",
    "member_close", "member_expire", "member_pause", "member_abort", "linger", "stall", "crash", "expire", "compact",
    "failed", "lost", "round_failed", "id_broker_restart", "id_broker_pause", "controller_fail_over", "snapshot",
)  # fmt: skip
"""Rates that are put to nothing one after the other, where what was found is found all the same."""


STATED_AS: Mapping[str, frozenset[str]] = {
    "all_of_it_is_in_the_log": frozenset({"transactions: completed_after_markers"}),
    "memory_is_what_the_log_says": frozenset(
        {
            "transactions: completed_after_markers",
            "transactions: logged_epochs_never_fall",
            "transactions: states_follow_on",
        }
    ),
    "no_epoch_past_the_last": frozenset({"transactions: epochs_in_range"}),
    "not_before_it_is_decided": frozenset({"group-fencing: fetches_are_stable"}),
    "nothing_committed_unasked": frozenset({"transactions: markers_as_decided", "transactions: markers_as_told"}),
    "nothing_open_after_a_fence": frozenset({"transactions: init_answered_when_idle"}),
    "runs_that_set": frozenset({"task-counts: sets_whole"}),
    "starts_from_the_newest": frozenset({"task-counts: running_checked_again", "task-counts: checked_again_newest"}),
}
"""By promise of a model: the history properties that say the same of events, and are numbered otherwise.  What a
coordinator remembers is no event: that it is not what the log says shows in what it logs next, which cannot follow."""


@cache
def promises() -> dict[str, dict[str, str]]:
    """By rule: the safety promises that are broken in a model without it, with their numbers."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted((ROOT / "proofs" / "verdicts").glob("*.json")):
        verdicts = json.loads(file.read_text())
        for one in verdicts if isinstance(verdicts, list) else ():
            if one.get("verdict") != "necessary" or not one.get("promise"):
                continue
            for variant in (
                v for name in (file.stem, *protocols()[file.stem].parts) for v in protocols()[name].variants
            ):
                promise = variant.properties.properties.get(one["promise"]) if variant.name == one["variant"] else None
                if promise is not None and promise.kind in ("always", "step") and promise.rule:
                    found.setdefault(one["rule"], {})[one["promise"]] = promise.rule
    return found


@cache
def named() -> dict[str, frozenset[str]]:
    """By rule: the numbers of those promises."""
    return {rule: frozenset(numbers.values()) for rule, numbers in promises().items()}


def also_broken(rule: str) -> dict[str, dict[str, Any]]:
    """The safety promises that are broken in the models without a rule, and not as soon as those that `promises` has:
    each with its number, and the mistake, the variant, and the steps of a run that shows it."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / "proofs" / "verdicts").glob("*.json")):
        verdicts = json.loads(file.read_text())
        rows = verdicts if isinstance(verdicts, list) else ()
        mistakes = {
            (r["variant"], r["mutation"]) for r in rows if r.get("rule") == rule and r.get("verdict") == "necessary"
        }
        for name in (file.stem, *protocols()[file.stem].parts) if mistakes else ():
            for variant in protocols()[name].variants:
                for mutant in mutations(variant.properties.protocol.spec, further=True):
                    if mutant.rule == rule and (variant.name, mutant.name) in mistakes:
                        for promise, trace in all_broken(variant, mutant, "smoke", STATES).items():
                            found.setdefault(promise, {
                                "number": variant.promised[promise].rule, "variant": variant.name,
                                "mutation": mutant.name, "steps": len(trace),
                            })  # fmt: skip
    return {name: one for name, one in found.items() if name not in promises().get(rule, ())}


def is_named(rule: str, further: Mapping[str, Mapping[str, Any]], broken: str, number: str) -> bool:
    """Whether a history property says what breaks without the rule: by its number, or as one of those that state the
    same promise.  ``further``: what `also_broken` found."""
    numbers = {*named().get(rule, ()), *(one["number"] for one in further.values())}
    names = (*promises().get(rule, ()), *further)
    return number in numbers or any(broken in STATED_AS.get(name, ()) for name in names)


def violated(histories: Histories, config: Mapping[str, Any]) -> dict[str, tuple[str, int, str]]:
    """By `vocabulary: property`: its rule, the first history that violates it, and the violation in words. What a late
    copy explains, as the documents predict of the mode, is no defect."""
    found = {}
    reported_in = REGISTRY[config["broken"]].reported_in if "broken" in config else ()
    for protocol, reported in simulate.vocabularies(config).items():
        if reported_in and protocol not in reported_in:
            continue
        properties = properties_of(protocol)
        manifest = Manifest(protocol, tuple(VOCABULARIES[protocol].codes), (), config=reported["config"])
        left_out = {**properties.unpromised(manifest), **properties.undecidable(manifest)}
        asked = [name for name in properties.names if name not in left_out]
        rows = [(number, made[protocol]) for number, made in histories if made[protocol]]
        columns = columns_of(VOCABULARIES[protocol], rows)
        findings, _ = properties.check(columns, asked, reported["config"])
        if excuses := predicted_of(manifest, misfits=True) if protocol in CONFORMING else None:
            findings |= without_excused(properties, findings, columns, reported["config"], excuses)
        for name, finding in findings.items():
            if finding.first is not None:
                found[f"{protocol}: {name}"] = properties.rules[name], finding.first.history, str(finding.first.told)
    return found


def made(numbers: range, config: Mapping[str, Any], base: int = 1) -> tuple[Histories, list[str]]:
    """Histories of these numbers; and of those that could not be made to their ends, why."""
    histories: Histories = []
    raised = []
    for number in numbers:
        try:
            histories.append((number, simulate(seed_of(base, number), config)[0]))
        except (RuntimeError, AssertionError, KeyError, ValueError) as error:
            raised.append(f"{type(error).__name__}: {error}")
    return histories, raised


def size(histories: Histories) -> int:
    """All events."""
    return sum(len(rows) for _, one in histories for rows in one.values())


@cache
def code_of(name: str) -> str:
    """A hash of what its result depends on: what generates and judges, the files that its mistake is written in, what
    it is given, and which promises necessity names."""
    defect = REGISTRY.find(name)
    given = (
        defect.name, defect.needs, defect.parts.needs, defect.breaks.value, defect.reported_in,
        sorted(promises().get(defect.rule, {}).items()),
    )  # fmt: skip
    return hash_of((*mistakes_of(defect), Path(__file__).resolve()), own_code(), repr(given))


def mistakes_of(defect: Broken) -> set[Path]:
    """The files of its layer's defects in which its pieces are written, and what these use of them; all of them
    where what is wrong is no piece of code."""
    layer, field = FOLDERS[defect.name.partition(":")[0]]
    package = f"fencepost.reference_impl.defects.{layer}"
    parts = getattr(defect.parts, field)
    pieces = [getattr(parts, name) for name in parts.__dataclass_fields__]
    waiting = [c.__module__ for piece in pieces for c in getattr(piece, "__mro__", (piece,)) if callable(c)]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name.startswith(package) and name not in found:
            found.add(name)
            used = vars(sys.modules[name]).values()
            waiting += [one.__name__ if isinstance(one, ModuleType) else getattr(one, "__module__", "") for one in used]
    folder = ROOT / "reference_impl" / "defects"
    return {Path(sys.modules[name].__file__ or "") for name in found} or set(folder.glob(f"{layer}*.py"))


def is_found(one: Mapping[str, Any]) -> bool:
    """Whether what was looked for is there: of a defect, that it is noticed by what necessity says; of a control, that
    anything is violated."""
    return bool(one["named"] if one["breaks"] == "promise" else one["first"])


@dataclass(frozen=True)
class Sought:
    """What is searched for at once: the defects of a rule, in turn, until one is noticed; or a control alone."""

    rule: str
    defects: tuple[str, ...]


def of_rule(
    sought: Sought, most: int, kept: Mapping[str, Mapping[str, Any]], further: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What comes of each defect within so many events, from where it was left, and what else is broken without the
    rule, which is asked for only where something was noticed that no kept verdict names."""
    found: dict[str, Mapping[str, Any]] = dict(kept)
    for name in sought.defects:
        found[name] = searched(name, most, found.get(name), further or {})
        if further is None and found[name]["first"] and not is_found(found[name]):
            further = also_broken(sought.rule)
            found[name] = searched(name, most, None, further)
        if is_found(found[name]):
            break
    return {"defects": found, "further": further}


def searched(
    name: str, most: int, before: Mapping[str, Any] | None, further: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """What comes of one defect within so many events; ``before``: what came of the first of them."""
    defect = REGISTRY.find(name)
    config = {"broken": defect.name}
    is_control = defect.breaks is not Breaks.PROMISE
    one: dict[str, Any] = {
        "defect": defect.name, "rule": defect.rule, "breaks": defect.breaks.value,
        "necessity_names": sorted(named().get(defect.rule, ())), "first": {}, "named": {}, "violated": {},
        "events": 0, "histories": 0, "raised": [], "seconds": 0,
    }  # fmt: skip
    one |= before or {}
    began, number, spent = time.process_time(), one["histories"], one["seconds"]
    while one["events"] < most and not is_found(one):
        batch, failed = made(range(number, number + TOGETHER), config)
        number += TOGETHER
        one["raised"] = sorted({*one["raised"], *failed})[:3]
        one["events"] += max(size(batch), len(failed))
        for broken, (rule, history, reported) in violated(batch, config).items() if batch else ():
            one["violated"].setdefault(broken, rule)
            report = {"events": one["events"], "property": broken, "rule": rule, "history": history, "told": reported}
            one["first"] = one["first"] or report
            if not is_control and not one["named"] and is_named(defect.rule, further, broken, rule):
                one["named"] = report
    return {**one, "histories": number, "seconds": spent + round(time.process_time() - began)}


def smallest(found: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest history found that shows what was found of a defect, with the config and the seed that make it
    again: as short a beginning as shows it of the history in which it was found, or of others, with as few sorts of
    faults.  Nothing where no beginning shows it without the end that follows, or with another."""
    name, history = (found["named"] or found["first"])["property"], (found["named"] or found["first"])["history"]
    protocol, _, own = name.partition(": ")
    quiet = properties_of(protocol).properties[own].needs_quiet_end
    config = {"broken": found["defect"], "quiet_end": quiet}
    best = _beginning(name, config, history, QUIET_AT if quiet else MOST)
    if best is None:
        return {}
    for other in range(history + 1, history + TRIED):
        best = _beginning(name, config, other, best["config"]["events"] - 1) or best
    for rate in QUIETER:
        for other in range(history, history + FEW):
            found = _beginning(name, {**best["config"], rate: 0.0}, other, best["config"]["events"])
            if found is not None:
                best = found
                break
    return best


def _beginning(name: str, config: Mapping[str, Any], number: int, most: int) -> dict[str, Any] | None:
    """The shortest beginning of one history that shows it; None if so many events do not."""
    best = _observed(name, config, number, most)
    low, high = 0, most
    while best is not None and high - low > max(5, high // 50):
        middle = (low + high) // 2
        found = _observed(name, config, number, middle)
        low, high, best = (low, middle, found) if found is not None else (middle, high, best)
    return best


def _observed(name: str, config: Mapping[str, Any], number: int, events: int) -> dict[str, Any] | None:
    """What shows it in a history of so many events, and how to make that again."""
    config = {**config, "events": events}
    histories, _ = made(range(number, number + 1), config)
    found = violated(histories, config).get(name) if histories else None
    if found is None:
        return None
    return {"events": size(histories), "seed": seed_of(1, number), "told": found[2], "config": config}


def chosen(names: list[str]) -> list[Sought]:
    """What is searched for: the defects that are named; or of every rule that is necessary for a safety promise, those
    that break one; and the controls."""
    if names:
        return [Sought(REGISTRY.find(name).rule, (name,)) for name in names]
    by_rule: dict[str, list[str]] = {}
    for defect in REGISTRY.values():
        if defect.breaks is Breaks.PROMISE and defect.rule in named():
            by_rule.setdefault(defect.rule, []).append(defect.name)
    rules = [Sought(rule, tuple(defects)) for rule, defects in by_rule.items()]
    return [*rules, *(Sought(d.rule, (d.name,)) for d in REGISTRY.values() if d.breaks is Breaks.NOTHING)]
