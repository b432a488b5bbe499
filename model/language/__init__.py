"""The language in which protocols and their properties are written.  See README.md, "How a rule reads"."""

from .annotations import Bool, Constant, Enumeration, Ghost, Int, Map, Nat, Option, Seq, Set, Sort
from .errors import ModelError
from .properties import Properties, Property, leads_to, lemma, progress, promise, step, witness
from .protocol import Action, Protocol, Spec, action, axiom, fault
from .refinements import refinement
from .vocabulary import append, at, each, either, exists, forall, implies, latest, length, limit, require, rule, when

__all__ = [
    "Action", "Bool", "Constant", "Enumeration", "Ghost", "Int", "Map", "ModelError", "Nat", "Option", "Properties",
    "Property", "Protocol", "Seq", "Set", "Sort", "Spec", "action", "append", "at", "axiom", "each", "either", "exists",
    "fault", "forall", "implies", "latest", "leads_to", "lemma", "length", "limit", "progress", "promise", "refinement",
    "require", "rule", "step", "when", "witness",
]  # fmt: skip
