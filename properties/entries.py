"""The entries of the catalogue: a protocol with its variants, what is expected of each property, and which bounds.

A *variant* is a protocol with its properties, perhaps with one rule read differently (``reading``); what is expected of
it is that everything holds, but for the exceptions it names, each of which the documents predict.  Bounds are named,
per profile, with reasons.  `fencepost.properties.catalogue` has all entries by name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fencepost.model.language.checks.errors import InputError, ModelError
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.properties import Properties, Property
from fencepost.model.language.protocol import Spec
from fencepost.model.releases import MISTAKE, Of
from fencepost.properties.nearest import instead

Profile = Literal["smoke", "ci", "nightly"]
PROFILES: tuple[Profile, ...] = ("smoke", "ci", "nightly")
FOLLOWED = 0.95
"""The share of simulated histories that a model must follow to their end for its verdict to count."""


class Names(Collection[str]):
    """Names of properties that are found when they are first read: finding them traces the protocol."""

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
    """The properties but for those of these names, and of these roles."""
    return Names(lambda: (n for n, p in properties.properties.items() if n not in names and p.role not in roles))


Wider = Mapping[Profile, Mapping[str, Mapping[str, int]]]
"""By profile and name, what is changed of a variant's bounds."""


@dataclass(frozen=True)
class Variant:
    """One form of a protocol.  ``reading``: (rule, mutation name) that is applied to it; ``expected``: property ->
    verdict where it is not `holds`; ``bounds``: what it changes of the protocol's bounds, in every profile;
    ``leaves_out``: properties not asked of it; ``progress_bounds``: smaller, since progress needs the whole graph;
    ``for_mutants``: more lemmas, declared for mutants; ``proof``: is there an inductive invariant for it, and
    ``proof_from``: the narrowest profile in which verification asks for its proof?  ``features``: what else
    is explored, one feature at a time, by name: what it changes of the bounds; ``wider``: by profile, what else is
    explored of more elements of a sort, where of states that differ in the names of elements alone one is searched;
    ``judged``: the rules that mutations of it are to judge, where other variants judge the rest.
    ``full``: the richer variant that is asked where a mutation does no harm to this one.  ``asks``: of a mistake, what
    it is asked for in addition to what it is expected to violate; it has to be something that could fail there as well.
    ``of``: the releases of Kafka that it describes, with the settings it needs there, or that it is of none."""

    name: str
    properties: type[Properties]
    says: str
    rule: str | None = None
    reading: tuple[str, str] | None = None
    expected: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[Profile, Mapping[str, int]] = field(default_factory=dict)
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

    @cached_property
    def spec(self) -> Spec:
        """The settled protocol of this variant."""
        raw = self.properties.protocol.spec
        if self.reading is None:
            return settle(raw)
        try:
            return mutation(raw, *self.reading).apply()
        except ModelError as error:
            raise CatalogueError(f"variant {self.name}: {str(error).split(': ', maxsplit=1)[1]}") from error

    @cached_property
    def asked(self) -> dict[str, Property]:
        """The properties that are asked of this variant: of a main one all that it does not leave out; of a mistake
        what it breaks, and what it says that it keeps (`asks`), with the witnesses of that."""
        every = {n: p for n, p in self.properties.properties.items() if n not in self.leaves_out}
        if self.main:
            return every
        named = {n for n, verdict in self.expected.items() if verdict == "violated"}.union(self.asks)
        return {n: p for n, p in every.items() if n in named or p.of in self.asks}

    @cached_property
    def promised(self) -> dict[str, Property]:
        """What is asked, but for what is expected to fail."""
        return {n: p for n, p in self.asked.items() if self.expected.get(n) != "violated"}

    def is_proved_in(self, profile: Profile) -> bool:
        """Does verification in this profile ask for its proof?"""
        return self.proof and PROFILES.index(self.proof_from) <= PROFILES.index(profile)

    @property
    def main(self) -> bool:
        """Is this the protocol as it should be, rather than a mistake or a rejected alternative?"""
        return self.rule is None


def violated(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "violated")


def wrong(
    name: str, properties: type[Properties], says: str, rule: str, bounds: Mapping[Any, Any], *breaks: str,
    reading: str | tuple[str, str] | None = None, asks: tuple[str, ...] = (), of: Of = MISTAKE, **more: Any,
) -> Variant:  # fmt: skip
    """A variant that lacks a rule, or has it read differently (``reading``: a mutation of that rule or another).  It is
    asked for what it breaks, and for what it keeps all the same (``asks``).  ``bounds``: of all, or by profile."""
    rest = Names(lambda: (n for n, p in properties.properties.items() if n not in breaks and not {n, p.of} & {*asks}))
    settings: dict[str, Any] = dict(bounds=bounds if "smoke" in bounds else {"smoke": bounds}, leaves_out=rest)
    read = (rule, reading) if isinstance(reading, str) else reading
    return Variant(name, properties, says, rule, read, violated(*breaks), asks=asks, of=of, **(settings | more))


@dataclass(frozen=True)
class Claim:
    """What the documents say, in terms of a variant's properties: it is proved if all of them are, and says something
    if its witnesses are reached."""

    rule: str
    variant: str
    properties: tuple[str, ...]
    witnesses: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Scenario:
    """A bug that is publicly known: the variant that has it, and the one that has it mended.  ``played``: the
    reference implementation can have it as well, in a scenario or a test."""

    name: str
    says: str
    broken: str
    fixed: str
    played: bool = False


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol: ``reasons`` says of each bound why exploration needs it and why its value is large enough.

    ``implementations``: (module:factory, variant), held against the model by agreement; ``simulators``: (variant,
    module:function, config), whose histories are replayed.  Both are reached by name, as a user's own are.  A protocol
    of which there is no model has no variants, and what its histories must satisfy says what it promises; its
    simulators have names of their own.
    ``on_request``: variants of these that ``fencepost verify`` leaves out, as what they break is seen now and then.
    ``verified``: does ``fencepost verify`` include it when no protocol is named?  ``parts``: the protocols by name that
    hold the rest of its rules, where it has been cut into several.  ``survivors``: (rule, mutation) -> why no more can
    be had than that it survives within bounds.  ``examples``: programs that agreement tries in a profile, and
    ``histories`` that are simulated, where the usual number takes too long.

    ``undecided``: by recording, and by variant whose histories are simulated, the history properties that cannot be
    decided of them: any other that is not decided is unexpected, and so is one of these that is.  ``seldom``: by the
    same, those that a few histories may have nothing to judge of.  ``violated``: by
    recording, the history properties that the running system broke, in the same way.  ``followed``: by variant, the
    least share of simulated histories that the model must follow to their end, where it is not `FOLLOWED`."""

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
    undecided: Mapping[str, frozenset[str]] = field(default_factory=dict)
    seldom: Mapping[str, frozenset[str]] = field(default_factory=dict)
    violated: Mapping[str, frozenset[str]] = field(default_factory=dict)
    followed: Mapping[str, float] = field(default_factory=dict)

    @property
    def verified_implementations(self) -> tuple[tuple[str, str], ...]:
        """Those that verification drives."""
        return tuple(each for each in self.implementations if each[1] not in self.on_request)

    @property
    def verified_simulators(self) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        """Those whose histories verification replays."""
        return tuple(each for each in self.simulators if each[0] not in self.on_request)

    @property
    def simulated(self) -> tuple[str, ...]:
        """What histories can be of: the variants; where there is no model, what the simulators are called."""
        return tuple(dict.fromkeys((*(v.name for v in self.variants), *(name for name, _, _ in self.simulators))))

    def variant(self, name: str) -> Variant:
        for candidate in self.variants:
            if candidate.name == name:
                return candidate
        meant = instead(name, [v.name for v in self.variants], f"fencepost list {self.name}")
        raise CatalogueError(f"{self.name} has no variant {name!r}; {meant}")


class CatalogueError(InputError):
    """A protocol, variant, profile or bound that does not exist, with those that do."""


def bounds_of(variant: Variant, profile: Profile, changes: Mapping[str, int] | None = None) -> dict[str, int]:
    """The bounds of a variant in a profile, with some of them changed; CatalogueError for one it does not have."""
    return changed(variant, variant.bounds.get(profile) or variant.bounds.get("smoke", {}), changes or {})


def features_of(variant: Variant, profile: Profile) -> dict[str, dict[str, int]]:
    """All the bounds that are explored in a profile: the variant's own under the empty name, then one feature at a
    time."""
    own = bounds_of(variant, profile)
    return {"": own} | {name: changed(variant, own, changes) for name, changes in variant.features.items()}


def wider_of(variant: Variant, profile: Profile) -> dict[str, dict[str, int]]:
    """By name, the bounds that are explored in a profile up to the names of elements."""
    own = bounds_of(variant, profile)
    return {name: changed(variant, own, changes) for name, changes in variant.wider.get(profile, {}).items()}


def progress_of(variant: Variant) -> dict[str, Mapping[str, int]]:
    """The bounds in which progress is asked for, as ``progress 1`` and so on."""
    return {f"progress {n}": bound for n, bound in enumerate(variant.progress_bounds, 1)}


def changed(variant: Variant, bounds: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    """Bounds of a variant with some of them changed; CatalogueError for one it does not have."""
    known = dict(bounds)
    for name, value in changes.items():
        if name not in known:
            meant = instead(name, known, "fencepost list PROTOCOL")
            raise CatalogueError(f"{variant.name} has no bound {name!r}; {meant}")
        known[name] = value
    return known
