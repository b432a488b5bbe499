"""A composed protocol inherits what is proved of its parts, because each of its steps is a step of a part or leaves
that part unchanged.

`departure` compares the actions of the composition with the part's, term by term, so that a spec that was changed after
it was composed inherits nothing. `part_refinement` states the same as a property of steps, for the engines to confirm.
"""

from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.derived.refinements import Refinement, refine
from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tracing.composing import PartSpec, composed
from fencepost.model.language.tracing.mappings import mapped_variable
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import Term, state


def departure(spec: Spec, name: str, source: Spec) -> str | None:
    """Return why some step of a settled composition is, in the variables of its part ``name``, neither a step of the
    protocol ``source`` nor a stutter. Return None if there is no such step: what was proved of ``source`` alone then
    holds of the composition."""
    if name not in spec.parts:
        return f"{spec.name} has no part {name}"
    part = PartSpec(name, settle(source), (), spec.parts[name].sorts)
    alone = composed(Spec(source.name, "", {}, frozenset(), {}, (), (), {}), {name: part})
    for variable, kind in alone.types.items():
        if spec.types.get(variable) != kind:
            return f"{variable} is another variable"
    if any(spec.constants.get(constant) != kind for constant, kind in alone.constants.items()):
        return "its constants are others"
    if not set(alone.axioms) <= set(spec.axioms):
        return "an axiom of it is missing"
    if _written(spec.initial, part) != _written(alone.initial, part):
        return "it starts otherwise"
    for action in spec.actions.values():
        if why := _departing(action, part):
            return f"{action.name} {why}"
    return None


Written = list[tuple[str, Term, tuple[Term, ...], object, bool]]


def _written(updates: tuple[Update, ...], part: PartSpec) -> Written:
    return [(u.variable, u.value, u.keys, u.bound, u.appends) for u in updates if part.has(u.variable)]


def _departing(action: Action, part: PartSpec) -> str | None:
    written = _written(action.updates, part)
    if not written:
        return None
    calls = [call for call in action.calls if call.part == part.name]
    if len(calls) != 1 or calls[0].action not in part.own.actions:
        return f"assigns {written[0][0]} and takes no action of the part"
    taken = part.taken(calls[0])
    there = {guard.condition for guard in action.guards}
    if any(guard.condition not in there for guard in taken.guards):
        return f"leaves out a guard of {taken.name}"
    if written != _written(taken.updates, part):
        return f"updates other than {taken.name} does"
    return None


def part_refinement(spec: Spec, name: str) -> Refinement:
    """Return the property that every step of the composition is a step of the part or leaves it unchanged. It is true
    by construction, and is stated for the engines to confirm."""
    part = spec.parts[name]
    alone = Spec(part.own.name, "", {}, frozenset(), {}, (), (), {})
    core = settle(composed(alone, {name: PartSpec(name, part.own, (), part.sorts)}))
    where = ("", 0)
    mapping = {n: mapped_variable(n, kind, Symbol(state(n, kind)), where) for n, kind in core.types.items()}
    return refine(f"{name}_steps", core, mapping, None, f"{name} does what {part.own.name} does.", {})
