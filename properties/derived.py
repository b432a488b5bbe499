"""A protocol that has no driver of its own gets one from its interface (``interface.py``), which determines how
implementations are driven and how histories are simulated, and from its table of events (``MAPPING`` of ``events.py``),
by which both are followed.

    class System(Protocol):                                  # interface.py: annotated with `roles`
        def acquire(self, client: Annotated[int, Index("clients")]) -> bool: ...

    SIZES = {"clients": Between(1, 3)}                       # further sizes of the config

The implementation that is driven where none is named, and whose histories are simulated, is ``reference`` of
``reference.py``, a factory that takes a config (a class will do). For one of fencepost's own protocols it is
``reference`` of the protocol's file in `reference_impl/systems`. ``DEFECTS`` there are factories of implementations
with one defect each; a violation that a history property finds in their histories proves that the property can be
violated.

Where single calls are not enough, ``scenarios.py`` has the rest: `machine.Machine.scenario` methods, and functions that
make several calls, which programs name as if they were calls.

    class Scenarios(Machine, steps={}): ...                  # scenarios.py
    HELPERS = (settle,)
    STEPS = {"crash": "crash"}                               # the calls that are steps, if not all of them
    AT_REST = frozenset({"settle"})                          # calls after which nothing is left to happen
    CONTEXT = Settled                                         # an `AtRest` that knows more of driven runs
    PARTS = parts                                            # `Agreeing.parts`, where not every system is followed
    TOUR = (("acquire", 0), …)                               # calls that cause all events, where chance does not
    FOLLOWED = {"plain": 0.5}                                # by variant, where the model can't follow most programs
    DANGERS = {"crash": ("client-crash",)}                   # interface.py: the dangers of calls (`Call.dangerous`)
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from inspect import signature
from typing import Annotated, Any

import numpy as np
from fencepost.properties import calls, free_run
from fencepost.properties.catalogue import find
from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Made
from fencepost.properties.event_mapping import mapping_of
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import HISTORIES
from fencepost.properties.history.vocabulary import VOCABULARIES, HistoryError
from fencepost.properties.machine import Machine, strategy, variants
from fencepost.properties.monitoring import RunContext
from fencepost.properties.registry import PROTOCOLS, folder, has, imported, refused
from fencepost.properties.roles import Amount, Between, Index, OneOf, Simplest
from hypothesis import strategies as st

OF_EACH_DEFECT = 20
"""This many histories are simulated of each defect."""
SMALL = 2
"""This many of everything that is counted are enough to find out what an implementation emits."""


def call_type_of(protocol: str) -> type[calls.Call]:
    """Return the type of calls on the systems of the protocol's interface. Raise `InputError` where the interface does
    not define what can be called."""
    interface = imported(f"{PROTOCOLS[protocol]}.interface")
    if protocol not in VOCABULARIES:
        raise refused(f"what implementations of {protocol} show is not said: {VOCABULARIES.lacking(protocol)}")
    for name, method in vars(interface.System).items():
        hints = getattr(method, "__annotations__", {})
        for parameter in list(signature(method).parameters)[1:] if not name.startswith("_") else ():
            if parameter not in hints:
                what = f'{parameter}: Annotated[int, Index("…")], or another of fencepost.properties.roles'
                raise refused(f"{interface.__name__}: System.{name}({parameter}) has no annotation; write {what}")
    words = VOCABULARIES[protocol]
    members = {
        "interface": (interface.System,), "columns": words.names, "filled": words.used_by, "errors": words.errors,
        "helpers": scenarios_of(protocol, "HELPERS", ()), "dangerous": getattr(interface, "DANGERS", {}),
    }  # fmt: skip
    return type("Call", (calls.Call,), members)


def scenarios_of(protocol: str, name: str, otherwise: Any) -> Any:
    if not has(protocol, "scenarios"):
        return otherwise
    return getattr(imported(f"{PROTOCOLS[protocol]}.scenarios"), name, otherwise)


class AtRest(RunContext):
    """This context of a driven run knows only that nothing is left to happen after some ``calls``."""

    calls: frozenset[str] = frozenset()

    def is_quiet(self, made: Made) -> bool:
        return made.call.name in self.calls


def sizes_of(protocol: str, variant: str = "") -> dict[str, Between | OneOf]:
    """Return the sizes in the config of a system of a variant: those that the interface declares, and each number that
    its annotations name."""
    interface, call_type = imported(f"{PROTOCOLS[protocol]}.interface"), call_type_of(protocol)
    methods = [call_type.method(name) for name in vars(interface.System) if not name.startswith("_")]
    indices = [role for method in methods for role in method.roles.values() if isinstance(role, Index)]
    named = {size: Between(1, role.among) for role in indices for size in (role.size, *role.additional)}
    return {**named, **getattr(interface, "SIZES", {}), **getattr(interface, "SIZES_OF", {}).get(variant, {})}


def small(protocol: str) -> dict[str, Any]:
    found = {name: min(max(role.least, SMALL), role.most) if isinstance(role, Between) else role.values[0]
             for name, role in sizes_of(protocol).items()}  # fmt: skip
    return {"seed": 0, **found}


def agreeing(protocol: str) -> Agreeing:
    """Return how implementations are driven, for the variants that the protocol's entry names, and which of them the
    table of events has."""
    package = PROTOCOLS[protocol]
    sizes, entry = sizes_of(protocol), find(protocol)[0]
    of_each = [sizes_of(protocol, name) for name in entry.simulated]
    of_all = {**sizes, **{n: role for each in of_each for n, role in each.items() if role != sizes[n]}}
    keys = {n: Amount(r.least) if isinstance(r, Between) else Simplest(r.values[0]) for n, r in of_all.items()}
    call_type: type[calls.Call] = type("Call", (call_type_of(protocol),), {"keys": keys, "moving": tuple(sizes)})
    mapping = mapping_of(protocol)
    if protocol not in HISTORIES:
        raise refused(f"there is nothing to hold implementations of {protocol} against: {HISTORIES.lacking(protocol)}")
    main = [v.name for v in entry.variants if v.main]
    of_these = dict.fromkeys(variant for _, variant in entry.implementations) or main
    names = list(of_these)
    drawn = {
        name: st.fixed_dictionaries(
            {"seed": st.just(0), **{n: strategy(Annotated[int, r], n) for n, r in sizes_of(protocol, name).items()}}
        )
        for name in names
    }
    played: type[Machine] = scenarios_of(protocol, "Scenarios", Machine)
    steps: Mapping[str, str] | None = scenarios_of(protocol, "STEPS", None)
    at_rest = {"calls": scenarios_of(protocol, "AT_REST", frozenset())}
    try:
        machine = type("Driven", (played,), {"call_type": call_type, "sizes": drawn[names[0]]}, steps=steps)
    except TypeError as error:  # an annotation of which no value can be drawn
        raise refused(f"{package}.interface: {error}") from error
    black_box = VOCABULARIES[protocol].black_box

    def missing(system: Any, variant: str) -> list[str]:
        return calls.missing(system, call_type.interface)

    @cache  # each search of a defect takes it
    def tour(variant: str) -> list[calls.Call]:
        if black_box == set(VOCABULARIES[protocol].codes):  # every implementation emits all kinds
            return []
        if own := scenarios_of(protocol, "TOUR", ()):
            return [call_type.within(small(protocol), *call) for call in own]
        return free_run.tour(call_type, factory(protocol), {**small(protocol), "mode": variant})

    missing.__module__ = f"{package}.interface"
    return Agreeing(
        protocol=protocol,
        says=entry.says,
        machines=variants(machine, drawn),
        missing=missing,
        black_box=black_box,
        small=small(protocol),
        tour=tour,
        call=call_type,
        ways={"": partial(free_run.go_on, call_type)},
        context=type("RunContext", (scenarios_of(protocol, "CONTEXT", AtRest),), at_rest),
        follow=None if mapping is None else mapping.follow,
        parts=scenarios_of(protocol, "PARTS", lambda config: (config,)),
        followed=scenarios_of(protocol, "FOLLOWED", {}),
        unfollowed=frozenset(() if mapping is None else set(names).difference(mapping.models)),
        composite=frozenset(helper.__name__ for helper in call_type.helpers),
        ending=at_rest["calls"],
        implementation=f"{reference_of(protocol)}:reference",
        calls_alone=not has(protocol, "scenarios"),
    )


def reference_of(protocol: str) -> str:
    """Return the module with the implementation that is driven where none is named."""
    mine = PROTOCOLS[protocol].startswith("fencepost.") and not has(protocol, "reference")
    return f"fencepost.reference_impl.systems.{folder(protocol)}" if mine else f"{PROTOCOLS[protocol]}.reference"


def factory(protocol: str, name: str = "reference") -> Any:
    """Return a factory of the protocol's own implementations. Raise `HistoryError` if there is none of this name."""
    module = imported(reference_of(protocol))
    if not callable(getattr(module, name, None)):
        raise HistoryError(f"{module.__name__} has no {name}; write a class, or a function of a config, of that name")
    return getattr(module, name)


def histories_of_defects(protocol: str) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield the name of each defect that the reference has, with the columns of some histories of it."""
    module = imported(f"{PROTOCOLS[protocol]}.reference") if has(protocol, "reference") else None
    for defect in getattr(module, "DEFECTS", ()):
        config = {"protocol": protocol, "broken": defect.__name__}
        made = [(number, simulate(number, config)) for number in range(OF_EACH_DEFECT)]
        yield defect.__name__, columns_of(VOCABULARIES[protocol], made)


def simulate(seed: int, config: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Return a history of the ``protocol`` that the config names, of its reference or of the factory named as
    ``broken``."""
    protocol = config["protocol"]
    if protocol not in PROTOCOLS:
        raise refused(f"there is no protocol {protocol!r}")
    wanted = {**small(protocol), **config}
    made = factory(protocol, config.get("broken") or "reference")
    return free_run.simulate(call_type_of(protocol), VOCABULARIES[protocol], made, seed, wanted)
