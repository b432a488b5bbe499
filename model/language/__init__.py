"""The language in which protocols and their properties are written.  See README.md, "How a rule reads"."""

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.derived.refinements import refinement
from fencepost.model.language.derived.scope import excused, kafka_excludes, not_of_this, open_hole
from fencepost.model.language.properties import (
    Properties,
    Property,
    leads_to,
    lemma,
    progress,
    promise,
    service,
    step,
    witness,
)
from fencepost.model.language.protocol import Action, Protocol, Spec, action, axiom, danger, fault
from fencepost.model.language.tracing.annotations import (
    Bool,
    Constant,
    Enumeration,
    Ghost,
    Int,
    Map,
    Nat,
    Option,
    Seq,
    Set,
    Sort,
)
from fencepost.model.language.tracing.vocabulary import (
    append,
    at,
    each,
    either,
    exists,
    forall,
    implies,
    latest,
    length,
    limit,
    require,
    rule,
    when,
)

__all__ = [
    "Action", "Bool", "Constant", "Enumeration", "Ghost", "Int", "Map", "ModelError", "Nat", "Option",
    "Properties", "Property", "Protocol", "Seq", "Set", "Sort", "Spec", "action", "append", "at", "axiom",
    "danger", "each", "either", "excused", "exists", "fault", "forall", "implies", "kafka_excludes", "latest",
    "leads_to", "lemma", "length", "limit", "not_of_this", "open_hole", "progress", "promise", "refinement",
    "require", "rule", "service", "step", "when", "witness",
]  # fmt: skip
