"""With these annotations a protocol declares its variables, as in ``Map[Broker, Id]`` and ``class Broker(Sort,
bound="brokers")``.

``class Id(Nat, upto="ids")`` is a number with a name, and an `Enumeration` is a small set of named values. Each
carries, as ``type``, the description that the engines read.
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVarTuple

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import constant
from fencepost.model.language.tree.types import (
    BOOL,
    INT,
    NAT,
    AtomsType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    SeqType,
    Type,
    scalar,
    type_of,
)

Ts = TypeVarTuple("Ts")

if TYPE_CHECKING:

    class _Declared(Any):  # type: ignore[misc]
        """A declared variable or parameter is Any to the type checker, since Python's types can't describe a symbol."""

        def __get__(self, instance: object, owner: object) -> Any: ...

        def __set__(self, instance: object, value: Any) -> None: ...

    class Map(_Declared, Generic[*Ts]): ...

    class Set(_Declared, Generic[*Ts]): ...

    class Seq(_Declared, Generic[*Ts]): ...

    class Option(_Declared, Generic[*Ts]): ...

    class Ghost(_Declared, Generic[*Ts]): ...

    class Constant(_Declared, Generic[*Ts]): ...

    class Part(_Declared, Generic[*Ts]): ...

else:
    _Declared = object

    class _Wrapped:
        """An annotation that carries a type and, for variables, the role they play."""

        def __init__(self, kind: Type, role: str = "") -> None:
            self.type, self.role = kind, role

    class _Part:
        """``Part[Kraft]``: the protocol, or in properties the properties, that the part is."""

        role = "part"

        def __init__(self, of) -> None:
            self.of = of

    class _Maker:
        """``Map[...]`` and its like: called with what stands in the brackets; ``says`` is its docstring."""

        def __init__(self, name, make, says) -> None:
            self.name, self.make, self.__doc__ = name, make, says

        @property
        def shape(self) -> str:
            return _SHAPES[self.name].removeprefix("write ")

        def __getitem__(self, arguments):
            given = arguments if isinstance(arguments, tuple) else (arguments,)
            try:
                return self.make(*given)
            except TypeError:
                raise mistake(f"{self.name}[...] got {len(given)} arguments", _SHAPES[self.name]) from None

    _SHAPES = {
        "Seq": 'write Seq[Entry, "bound"]',
        "Option": "write Option[Broker]",
        "Ghost": "write Ghost[Set[Id]]",
        "Constant": "write Constant[Nat]",
        "Part": "write Part[Kraft]",
        "Map": "write Map[Broker, Id]: keys, then the value",
        "Set": "write Set[Broker]",
    }

    def _map(first, second, *more) -> _Wrapped:
        *keys, value = (first, second, *more)
        return _Wrapped(MapType(tuple(map(scalar, keys)), scalar(value)))

    Map = _Maker("Map", _map, "A `Map` has a value for each key, or for each tuple of keys; at first they are zero.")
    Set = _Maker(
        "Set", lambda *keys: _Wrapped(MapType(tuple(map(scalar, keys)), BOOL)),
        "A `Set` has some of the elements of a sort, or of their tuples, and is empty at first.",
    )  # fmt: skip
    Seq = _Maker(
        "Seq", lambda entry, bound: _Wrapped(SeqType(scalar(entry), bound)),
        "A `Seq` is a sequence of at most ``bound`` entries, at positions 1, 2, …; no proof without bounds is of one.",
    )  # fmt: skip
    Option = _Maker(
        "Option", lambda of: _Wrapped(OptionType(scalar(of))), "An `Option` is a value or None, and None at first."
    )
    Ghost = _Maker(
        "Ghost", lambda of: _Wrapped(type_of(of), "ghost"),
        "A `Ghost` is a variable that the protocol writes, and that properties alone read.",
    )  # fmt: skip
    Constant = _Maker(
        "Constant", lambda of: _Wrapped(scalar(of), "constant"),
        "A `Constant` never changes: in proofs it is any value that fulfils the axioms, in exploration the bound.",
    )  # fmt: skip
    Part = _Maker(
        "Part", _Part,
        "A `Part` is another protocol of which this one is composed, or in properties the properties of that one.",
    )  # fmt: skip


class Bool(_Declared):
    """A `Bool` is True or False."""

    type: Any = BOOL


class Int(_Declared):
    """An `Int` is an integer, which may be negative."""

    type: Any = INT


class Nat(_Declared):
    """A `Nat` is a natural number. ``class Id(Nat, upto="ids")`` gives it a name and a largest value to explore."""

    type: Any = NAT

    def __init_subclass__(cls, upto: str | int | None = None) -> None:
        cls.type = NumberType(cls.__name__, None if upto is None else str(upto))


class Sort(_Declared):
    """A `Sort` has elements without structure, such as brokers. ``bound`` names how many there are in exploration."""

    type: Any = None

    def __init_subclass__(cls, bound: str) -> None:
        cls.type = AtomsType(cls.__name__, bound)


class Enumeration(_Declared):
    """An `Enumeration` is a set of named values, the class attributes in capitals, the zero value first."""

    type: Any = None

    def __init_subclass__(cls) -> None:
        members = {name: value for name, value in vars(cls).items() if not name.startswith("__")}
        if cls.__bases__ != (Enumeration,):
            raise mistake(f"{cls.__name__} extends an enumeration", "write a new Enumeration with all its members")
        for number, (name, value) in enumerate(members.items()):
            if not name.isupper() or value != number:
                raise mistake(
                    f"member {name} = {value!r} of {cls.__name__}", f"use capital letters, and {number} for its place"
                )
        cls.type = EnumType(cls.__name__, tuple(members))
        for number, name in enumerate(members):
            setattr(cls, name, Symbol(constant(number, cls.type)))
