"""Names: what each thing of a protocol is called in Murphi, and the types of its values.

Names are those of the model, set apart by a ``_`` where Murphi uses the word itself.  A number or an element of a sort
is a number from 0 on, and no value of an Option is -1, so that a value and the same value as one of an Option are
equal.
"""

from collections.abc import Iterator

from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    bound_of,
)
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.tla.identifiers import Identifiers

KEYWORDS = frozenset(
    """
    alias array assert assume begin boolean by case clear const cover do else elsif elseif end endalias endexists endfor
    endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile enum error
    exists false for forall from function if in interleaved invariant ismember isundefined liveness multiset
    multisetadd multisetcount multisetremove multisetremovepred of print procedure process program property put record
    return rule ruleset scalarset startstate switch then to traceuntil true type undefine union var while
    """.split()  # noqa: SIM905
)
"""Words that Murphi reads in capitals as well."""


class Names(Identifiers):
    """Names that are taken, and the types; ``members`` are the names of those of enumerations, ``symmetric`` the sorts
    of which states that differ in the names of elements alone are one."""

    reserved = frozenset({"None", "Number"})
    own = frozenset({"last", "place", "upto"})

    def __init__(self, spec: Spec, bounds: Bounds, symmetric: frozenset[AtomsType] = frozenset()) -> None:
        self.members: dict[tuple[EnumType, int], str] = {}
        self.maybe: dict[OptionType, str] = {}
        self.lengths: dict[str, str] = {}
        self.sequences = {name: kind for name, kind in spec.types.items() if isinstance(kind, SeqType)}
        self.symmetric, self.widest = symmetric, False
        super().__init__(spec, bounds)
        for name, kind in spec.types.items():
            for part in _scalars(kind):
                self.set_of(part)
            if isinstance(kind, SeqType):
                self.lengths[name] = self.named("length", name, f"{name}_length")
                self.limit(kind.bound)
        for action in spec.actions.values():
            for _, of in action.parameters:
                self.set_of(of)
            if action.budget is not None:
                self.bound(action.budget)

    def taken(self, name: str) -> bool:
        return name.lower() in KEYWORDS or super().taken(name)

    def member(self, kind: EnumType, value: int) -> str:
        """A member of an enumeration; where another has its name, behind that of the enumeration."""
        self.set_of(kind)
        return self.members[kind, value]

    def set_of(self, kind: ScalarType) -> str:
        """The name of a type; of numbers that have no largest one, that of all that an expression comes to."""
        match kind:
            case BoolType():
                return "boolean"
            case EnumType(name, members) if kind not in self.enumerations:
                found = super().set_of(kind)
                for value, member in enumerate(members):
                    named = self.named("member", f"{found}.{member}", member, f"{name}_{member}")
                    self.members[kind, value] = named
                return found
            case OptionType(of):
                if not isinstance(of, AtomsType | NumberType):
                    raise BoundsError(
                        f"{kind} has no value in Murphi that is none; have it hold a number or an element"
                    )
                self.options = True
                if kind not in self.maybe:
                    self.maybe[kind] = self.named("type", str(kind), f"Maybe{self.set_of(of)}")
                return self.maybe[kind]
            case NumberType(_, None, _):
                self.widest = True
                return "Number"
            case AtomsType():
                self.bound(kind.bound)
        return super().set_of(kind)

    def first_of(self, kind: AtomsType) -> str:
        """The zero value of a sort, which is its first element."""
        self.set_of(kind)
        return "0"

    def zero(self, kind: ScalarType) -> str:
        match kind:
            case BoolType():
                return "false"
            case EnumType():
                return self.member(kind, 0)
        return super().zero(kind)

    def places(self, kind: SeqType) -> str:
        """The places of a sequence; one of no use, where it has no room, since Murphi has no empty range."""
        return f"1 .. {self.limit(kind.bound)}" if bound_of(self.bounds, kind.bound) else "1 .. 1"

    def highest(self, kind: ScalarType) -> str:
        """The largest value of a number or of an element, as an expression of the constants."""
        match kind:
            case OptionType(of):
                return self.highest(of)
            case AtomsType(_, bound):
                return f"{self.bound(bound)} - 1"
            case NumberType(_, str(upto), _):
                return self.limit(upto)
        raise AssertionError(kind)

    def declarations(self) -> Iterator[tuple[str, str]]:
        """All types, each by its name, those that others are made of first."""
        for kind, name in self.sorts.items():
            size = self.bound(kind.bound)
            yield name, f"scalarset({size})" if kind in self.symmetric else f"0 .. {size} - 1"
        for key, name in self.numbers.items():
            yield name, f"0 .. {key[1]}"
        for option, name in self.maybe.items():
            yield name, f"None .. {self.highest(option)}"
        for enumeration, name in self.enumerations.items():
            members = ", ".join(self.members[enumeration, n] for n in range(len(enumeration.members)))
            yield name, f"enum {{ {members} }}"


def symmetric_sorts(spec: Spec) -> frozenset[AtomsType]:
    """Sorts whose elements differ by name alone: those that no variable or constant holds one of, so that none of them
    is named as the first."""
    held, keys = set(spec.constants.values()), set()
    for kind in spec.types.values():
        *before, value = _scalars(kind)
        held.add(value.of if isinstance(value, OptionType) else value)
        keys.update(before)
        held.update(key.of for key in before if isinstance(key, OptionType))
    asked = {kind for action in spec.actions.values() for _, kind in action.parameters}
    held.update(kind.of for kind in asked if isinstance(kind, OptionType))
    return frozenset(kind for kind in keys | asked if isinstance(kind, AtomsType) and kind not in held)


def _scalars(kind: object) -> list[ScalarType]:
    match kind:
        case MapType(keys, value):
            return [*keys, value]
        case SeqType(entry, _):
            return [entry]
    return [kind]  # type: ignore[list-item]
