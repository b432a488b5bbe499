"""What an audit must find."""

from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, last
from fencepost.properties.history.words import Words

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
