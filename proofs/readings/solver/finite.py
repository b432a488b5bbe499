"""This module has the finite ranges that bounds give to types, and the refusal of sequences, which have no others.

Several readings use it, and it imports no solver.
"""

from collections.abc import Sequence

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    NumberType,
    OptionType,
    ScalarType,
    evaluate_bound,
)


def scalar_values(kind: ScalarType, bounds: Bounds) -> Sequence[int | bool | None]:
    """Return all values of a type within bounds, the zero value first. Errors: ModelError without a bound."""
    match kind:
        case BoolType():
            return (False, True)
        case EnumType(_, members):
            return range(len(members))
        case OptionType(of):
            return (None, *scalar_values(of, bounds))
        case AtomsType(name, bound):
            return range(_bound(bound, bounds, name))
        case NumberType(name, upto, _):
            if upto is None:
                raise ModelError(
                    f'{name} has no largest value within bounds; declare class X(Nat, upto="xs") and use X'
                )
            return range(_bound(upto, bounds, name) + 1)


def _bound(text: str, bounds: Bounds, name: str) -> int:
    try:
        return evaluate_bound(text, bounds)
    except KeyError as missing:
        raise ModelError(
            f"{name} is bounded by {text}, and the bounds given lack {missing}; there are {dict(bounds)}"
        ) from None


def unbounded_sequence(spec: Spec, name: str) -> ModelError:
    return ModelError(
        f"{spec.name}: {name} is a sequence, and sequences are bounded while proofs are not; "
        f"model it as a map from positions and a length, or leave this protocol to the bounded engines"
    )
