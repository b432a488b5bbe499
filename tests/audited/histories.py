"""What an audit must find, and what can be wrong in it."""

from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, last
from fencepost.properties.seeded_violations import Seeded, SeededHistory, change

from tests.audited.events import AUDITED, Kind

BEFORE = last(Kind.read, by=())

HISTORY = HistoryProperties(
    AUDITED,
    in_a_table(
        declared(
            "never_older", "lock.P1", "what the store has is never of an older lease than what it had",
            each(Kind.read), BEFORE.token > IT.token,
            Words(AUDITED).saying("an older lease than that of"), explained=BEFORE,
        ),
    ),
)  # fmt: skip


def rows() -> list[tuple[int, ...]]:
    """Two reads."""
    return [(0, 0, int(Kind.read), 1), (1, 0, int(Kind.read), 2)]


VIOLATIONS = {"an older one": Seeded((change(Kind.read, 1, token=0),), {"never_older": 1})}
SEEDED_HISTORY = SeededHistory(AUDITED, "tests.audited.histories:rows", VIOLATIONS, shifted=())
