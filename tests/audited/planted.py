"""What can be wrong in an audit."""

from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import Plant, change

from tests.audited.events import AUDITED, Kind


def rows() -> list[tuple[int, ...]]:
    """Two reads."""
    return [(0, 0, int(Kind.read), 1), (1, 0, int(Kind.read), 2)]


PLANTS = {"an older one": Plant((change(Kind.read, 1, token=0),), {"never_older": 1})}
BED = Bed(AUDITED, "tests.audited.planted:rows", PLANTS, shifted=())
