"""The catalogue has every protocol that is judged, with its variants.

The registry locates the entries, and `fencepost.properties.entries` defines their types, whose names can be imported
from here as well.
"""

from dataclasses import replace

from fencepost.model.language.tracing.deferring import deferred
from fencepost.properties.entries import (
    FOLLOWED,
    PROFILES,
    CatalogueError,
    Claim,
    Profile,
    ProtocolEntry,
    Scenario,
    Variant,
    bounds_of,
    changed,
    features_of,
    progress_of,
    wider_of,
)
from fencepost.properties.nearest import instead
from fencepost.properties.registry import PROTOCOLS, Found, has, require

__all__ = [
    "FOLLOWED",
    "PROFILES",
    "CatalogueError",
    "Claim",
    "Profile",
    "ProtocolEntry",
    "Scenario",
    "Variant",
    "bounds_of",
    "changed",
    "features_of",
    "find",
    "progress_of",
    "protocols",
    "whole_of",
    "wider_of",
]

SIMULATE = "fencepost.properties.derived:simulate"
ENTRIES: Found[tuple[ProtocolEntry, ...]] = Found(
    ("variants.catalogue", "variants", "claims"),
    "ENTRIES",
    write="ENTRIES = (ProtocolEntry({protocol!r}, …),) in claims.py",
)
"""Each protocol in the registry has its own entry, and one for each of the parts that it is divided into."""


def protocols() -> dict[str, ProtocolEntry]:
    """Return every protocol and part by name. Entries are imported on request, and each is traced when its spec or its
    properties are requested."""
    return {entry.name: entry for protocol in PROTOCOLS for entry in _entries(protocol)}


def _entries(protocol: str) -> tuple[ProtocolEntry, ...]:
    require(protocol)
    with deferred():
        entries = ENTRIES[protocol]
    own = isinstance(entries, tuple | list) and entries and isinstance(entries[0], ProtocolEntry)
    if not own or entries[0].name != protocol:
        name = f"begins with {entries[0].name!r}" if own else "is no tuple of ProtocolEntry"
        where = ENTRIES.module_name(protocol)
        raise CatalogueError(f"{where}: ENTRIES {name}; write ENTRIES = (ProtocolEntry({protocol!r}, …),)")
    return (driven(entries[0]), *entries[1:])


def driven(entry: ProtocolEntry) -> ProtocolEntry:
    """Return the entry; a protocol of a user that has an interface and a reference, and names no implementation or
    simulator, is driven and simulated with that reference."""
    package = PROTOCOLS[entry.name]
    if entry.implementations or entry.simulators or not (has(entry.name, "interface") and has(entry.name, "reference")):
        return entry
    main = [variant.name for variant in entry.variants if variant.main]
    return replace(
        entry,
        implementations=tuple((f"{package}.reference:reference", name) for name in main),
        simulators=tuple((name, SIMULATE, {"protocol": entry.name, "mode": name}) for name in main),
    )


def whole_of(entry: ProtocolEntry) -> list[ProtocolEntry]:
    known = protocols()
    return [entry, *(known[part] for part in entry.parts)]


def find(name: str) -> tuple[ProtocolEntry, Variant | None]:
    """Return the protocol and variant of a name such as ``id-blocks`` or ``id-blocks/kraft``. Raise CatalogueError with
    the known names."""
    protocol, _, variant = name.partition("/")
    known = {entry.name: entry for entry in _entries(protocol)} if protocol in PROTOCOLS else protocols()
    if protocol not in known:
        meant = f"{instead(protocol, protocols(), 'fencepost list')}; your own goes by its package, such as my.lease"
        raise CatalogueError(f"there is no protocol {protocol!r}; {meant}")
    return known[protocol], known[protocol].variant(variant) if variant else None
