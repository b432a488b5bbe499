"""Files: a variant of the catalogue as a Murphi module."""

from collections.abc import Iterable, Mapping

from fencepost.proofs.readings.murphi.module import Exported, exported
from fencepost.proofs.readings.tla.files import source_of
from fencepost.properties.entries import ProtocolEntry, Variant


def of_variant(
    entry: ProtocolEntry, variant: Variant, bounds: Mapping[str, int], *, symmetry: bool = False
) -> Exported:  # fmt: skip
    """A variant of the catalogue within bounds.  BoundsError where the explorer would refuse the bounds, or where
    Murphi cannot say something."""
    return exported(source_of(entry, variant, bounds, symmetry=symmetry))


def files(made: Iterable[Exported]) -> dict[str, str]:
    """By file name, its text."""
    return {f"{each.stem}.m": each.module for each in made}
