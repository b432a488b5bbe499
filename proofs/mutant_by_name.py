"""A variant with one rule got wrong on top of it, by the names that `fencepost list --verbose` has."""

from fencepost.model.language.derived.mutations import mutations
from fencepost.model.language.protocol import Spec
from fencepost.properties.catalogue import CatalogueError, ProtocolEntry, Variant
from fencepost.properties.nearest import instead


def without_rule(entry: ProtocolEntry, variant: Variant, wrong: tuple[str, str]) -> Spec:
    """The settled protocol with this mistake, a rule and a mutation of it; CatalogueError if there is no such one."""
    if variant.reading is not None:
        rule, name = variant.reading
        raise CatalogueError(f"{variant.name} has rule {rule} wrong already ({name}); name the variant it is made of")
    there = mutations(variant.properties.protocol.spec)
    for mutant in there:
        if (mutant.rule, mutant.name) == wrong:
            return mutant.apply()
    of_rule = [m.name for m in there if m.rule == wrong[0]]
    given, known = (wrong[1], of_rule) if of_rule else (wrong[0], list(dict.fromkeys(m.rule for m in there)))
    meant = instead(given, known, f"fencepost list {entry.name}/{variant.name} --verbose")
    raise CatalogueError(f'{variant.name} has no mutation {wrong[0]} "{wrong[1]}"; {meant}')
