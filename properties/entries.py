"""This module defines the entries of the catalogue: a protocol with its variants, the expected verdict of each
property, and the bounds.

A *variant* is a protocol with its properties, perhaps with one rule read differently (``reading``). All its properties
are expected to hold except those that it names, each of which the documents predict to fail. Bounds are named, per
profile, with reasons. `fencepost.properties.catalogue` has all entries by name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fencepost.model.language.checks.errors import InputError, ModelError, caller, mistake
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.properties import Properties, Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import Place
from fencepost.model.releases import MISTAKE, Of
from fencepost.properties.nearest import instead
from fencepost.properties.registry import called

Profile = Literal["smoke", "ci", "nightly"]
PROFILES: tuple[Profile, ...] = ("smoke", "ci", "nightly")
VERDICTS = ("holds", "violated")
"""A variant expects one of these verdicts of each of its properties."""
FOLLOWED = 0.95
"""A model must follow this share of simulated histories to their end for its verdict to count."""


class Names(Collection[str]):
    """A `Names` has names of properties that are found when they are first read, because finding them traces the
    protocol."""

    def __init__(self, find: Callable[[], Iterable[str]]) -> None:
        self._find = find

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._find())

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(self._names)


def all_but(properties: type[Properties], *names: str, roles: Collection[str] = ()) -> Names:
    """Return the names of all properties except these names and those of these roles."""
    return Names(lambda: (n for n, p in properties.properties.items() if n not in names and p.role not in roles))


Wider = Mapping[Profile, Mapping[str, Mapping[str, int]]]
"""A `Wider` has, by profile and name, changes of a variant's bounds."""


@dataclass(frozen=True)
class Variant:
    """A `Variant` is one form of a protocol.

    ``reading`` is the (rule, mutation name) that is applied to it. ``expected`` has the verdict of each property for
    which it is not `holds`. ``bounds`` has its bounds per profile, and ``leaves_out`` the properties that are not asked
    of it. ``progress_bounds`` are smaller, since progress needs the whole graph. ``for_mutants`` has more lemmas,
    declared for mutants. ``proof`` states whether there is an inductive invariant for it, and ``proof_from`` is the
    narrowest profile in which verification asks for its proof. ``features`` has bounds that are explored in addition,
    one feature at a time, as changes of its own. ``wider`` has, by profile, bounds with more elements of a sort, where
    only one of the states that differ in the names of elements alone is explored. ``judged`` names the rules that
    mutations of it are to judge, where other variants judge the rest. ``full`` names the richer variant that is asked
    where a mutation does no harm to this one. ``asks`` names what a mistake is asked for in addition to what it is
    expected to violate, which has to be something that could fail there as well. ``of`` names the releases of Kafka
    that it describes, with the settings it needs there, or states that it describes none.
    """

    name: str
    properties: type[Properties]
    says: str
    rule: str | None = None
    reading: tuple[str, str] | None = None
    expected: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[Profile, Mapping[str, int]] | Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    leaves_out: Collection[str] = ()
    progress_bounds: tuple[Mapping[str, int], ...] = ()
    for_mutants: type[Properties] | None = None
    proof: bool = True
    proof_from: Profile = "smoke"
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    wider: Wider = field(default_factory=dict)
    judged: tuple[str, ...] | None = None
    full: str | None = None
    asks: tuple[str, ...] = ()
    of: Of | None = None
    where: Place = field(default_factory=lambda: caller(__file__), compare=False, repr=False)

    def __post_init__(self) -> None:
        for verdict in self.expected.values():
            if verdict not in VERDICTS:
                raise self._mistake(f"{verdict!r} is no verdict", instead(verdict, VERDICTS))
        for profile in (*self.bounds, *self.wider, self.proof_from):
            if profile not in PROFILES:
                raise self._mistake(f"{profile!r} is no profile", instead(profile, PROFILES))

    def _mistake(self, what: str, otherwise: str) -> ModelError:
        return mistake(f"variant {self.name}: {what}", otherwise, self.where)

    @cached_property
    def spec(self) -> Spec:
        raw = self.properties.protocol.spec
        if self.reading is None:
            return settle(raw)
        try:
            return mutation(raw, *self.reading).apply()
        except ModelError as error:
            raise CatalogueError(f"variant {self.name}: {str(error).split(': ', maxsplit=1)[1]}") from error

    @cached_property
    def asked(self) -> dict[str, Property]:
        """These are the properties that are asked of the variant. A main variant is asked for all that it does not
        leave out, and a mistake for what it breaks and for what it fulfils (`asks`), with the witnesses of that."""
        for name in (*self.expected, *self.asks):
            if name not in self.properties.properties:
                meant = instead(name, self.properties.properties)
                raise self._mistake(f"{self.properties.__name__} has no {name!r}", meant)
        every = {n: p for n, p in self.properties.properties.items() if n not in self.leaves_out}
        if self.main:
            return every
        named = {n for n, verdict in self.expected.items() if verdict == "violated"}.union(self.asks)
        return {n: p for n, p in every.items() if n in named or p.of in self.asks}

    @cached_property
    def promised(self) -> dict[str, Property]:
        """These are the properties that are asked of the variant and not expected to fail."""
        return {n: p for n, p in self.asked.items() if self.expected.get(n) != "violated"}

    def is_proved_in(self, profile: Profile) -> bool:
        return self.proof and PROFILES.index(self.proof_from) <= PROFILES.index(profile)

    @property
    def main(self) -> bool:
        """A main variant is the protocol as it should be, rather than a mistake or a rejected alternative."""
        return self.rule is None


def violated(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "violated")


def wrong(
    name: str, properties: type[Properties], says: str, rule: str, bounds: Mapping[Any, Any], *breaks: str,
    reading: str | tuple[str, str] | None = None, asks: tuple[str, ...] = (), of: Of = MISTAKE, **more: Any,
) -> Variant:  # fmt: skip
    """Return a variant that lacks a rule, or has it read differently (``reading`` is a mutation of that rule or
    another). It is asked for what it breaks, and for what it fulfils all the same (``asks``). ``bounds`` are for all
    profiles, or by profile."""
    rest = Names(lambda: (n for n, p in properties.properties.items() if n not in breaks and not {n, p.of} & {*asks}))
    settings: dict[str, Any] = dict(bounds=bounds if "smoke" in bounds else {"smoke": bounds}, leaves_out=rest)
    read = (rule, reading) if isinstance(reading, str) else reading
    return Variant(name, properties, says, rule, read, violated(*breaks), asks=asks, of=of, **(settings | more))


@dataclass(frozen=True)
class Claim:
    """A `Claim` is a statement of the documents in terms of a variant's properties: it is proved if all of them are,
    and is not vacuous if its witnesses are reached."""

    rule: str
    variant: str
    properties: tuple[str, ...]
    witnesses: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Scenario:
    """A `Scenario` is a publicly known bug, with the variant that has it and the one that has it fixed. ``played``
    states that the reference implementation can have it as well, in a scenario or a test."""

    name: str
    says: str
    broken: str
    fixed: str
    played: bool = False


SELDOM_TAKEN = "with the seed 0 or 1 no program of `fencepost verify` took it; `fencepost agree` asks for it"
"""This is a reason for `ProtocolEntry.left_out`."""


@dataclass(frozen=True)
class ProtocolEntry:
    """A `ProtocolEntry` describes a protocol in the catalogue; ``reasons`` explains for each bound why exploration
    needs it and why its value is large enough.

    ``implementations`` are (module:factory, variant), compared with the model by agreement, and ``simulators`` are
    (variant, module:function, config), whose histories are replayed. Both are imported by name, as a user's own are. A
    protocol without a model has no variants, and its history properties are its promises; its simulators have names of
    their own. ``on_request`` names variants of these that ``fencepost verify`` leaves out, as what they break is found
    only now and then. ``verified`` states whether ``fencepost verify`` includes the protocol when none is named.
    ``parts`` names the protocols that have the rest of its rules, where it is divided into several. ``survivors``
    explains for a (rule, mutation) why it survives within bounds and no more can be achieved. ``examples`` is the
    number of programs that agreement tries in a profile, and ``histories`` that of simulated histories, where the usual
    number takes too long. ``left_out`` has by variant the actions of the model that agreement in ``fencepost verify``
    need not take, each with the reason; of any other that no run takes it is inconclusive.

    ``undecided`` has, by recording and by variant whose histories are simulated, the history properties that cannot be
    decided of them: any other that is not decided is unexpected, and so is one of these that is. ``seldom`` has, in the
    same way, those that a few histories may give no opportunity to judge. ``violated`` has, by recording, the history
    properties that the running system broke. ``followed`` has by variant the least share of simulated histories that
    the model must follow to their end, where it is not `FOLLOWED`.
    """

    name: str
    says: str
    variants: tuple[Variant, ...]
    reasons: Mapping[str, str]
    implementations: tuple[tuple[str, str], ...] = ()
    simulators: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    on_request: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    verified: bool = True
    parts: tuple[str, ...] = ()
    survivors: Mapping[tuple[str, str], str] = field(default_factory=dict)
    examples: Mapping[Profile, int] = field(default_factory=dict)
    histories: Mapping[Profile, int] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    undecided: Mapping[str, frozenset[str]] = field(default_factory=dict)
    seldom: Mapping[str, frozenset[str]] = field(default_factory=dict)
    violated: Mapping[str, frozenset[str]] = field(default_factory=dict)
    followed: Mapping[str, float] = field(default_factory=dict)

    @property
    def verified_implementations(self) -> tuple[tuple[str, str], ...]:
        return tuple(each for each in self.implementations if each[1] not in self.on_request)

    @property
    def verified_simulators(self) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        return tuple(each for each in self.simulators if each[0] not in self.on_request)

    @property
    def simulated(self) -> tuple[str, ...]:
        """Histories can be simulated of these: the variants, or where there is no model, the names of the
        simulators."""
        return tuple(dict.fromkeys((*(v.name for v in self.variants), *(name for name, _, _ in self.simulators))))

    def variant(self, name: str) -> Variant:
        for candidate in self.variants:
            if candidate.name == name:
                return candidate
        meant = instead(name, [v.name for v in self.variants], f"fencepost list {called(self.name)}")
        raise CatalogueError(f"{self.name} has no variant {name!r}; {meant}")


class CatalogueError(InputError):
    """A `CatalogueError` names a protocol, variant, profile or bound that does not exist, and those that do."""


def bounds_of(variant: Variant, profile: Profile, changes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the bounds of a variant in a profile, with some of them changed. Raise CatalogueError for one it does not
    have."""
    return changed(variant, variant.bounds.get(profile) or variant.bounds.get("smoke", {}), changes or {})


def features_of(variant: Variant, profile: Profile) -> dict[str, dict[str, int]]:
    """Return all the bounds that are explored in a profile: the variant's own under the empty name, then one feature at
    a time."""
    own = bounds_of(variant, profile)
    return {"": own} | {name: changed(variant, own, changes) for name, changes in variant.features.items()}


def wider_of(variant: Variant, profile: Profile) -> dict[str, dict[str, int]]:
    """Return by name the bounds that are explored in a profile up to the names of elements."""
    own = bounds_of(variant, profile)
    return {name: changed(variant, own, changes) for name, changes in variant.wider.get(profile, {}).items()}


def progress_of(variant: Variant) -> dict[str, Mapping[str, int]]:
    """Return the bounds in which progress is asked for, as ``progress 1`` and so on."""
    return {f"progress {n}": bound for n, bound in enumerate(variant.progress_bounds, 1)}


def changed(variant: Variant, bounds: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    """Return bounds of a variant with some of them changed. Raise CatalogueError for one it does not have."""
    known = dict(bounds)
    for name, value in changes.items():
        if name not in known:
            meant = instead(name, known)
            raise CatalogueError(f"{variant.name} has no bound {name!r}; {meant}")
        known[name] = value
    return known
