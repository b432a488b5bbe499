"""What the events of a lock must satisfy, whichever system made them."""

from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, last

from .events import LOCK, Kind

BEFORE = last(Kind.written, by=())

HISTORY = HistoryProperties(
    LOCK,
    in_a_table(
        declared(
            "writes_in_order", "lock.P1", "no write is taken under a token older than that of the write before",
            each(Kind.written), BEFORE.token > IT.token,
            Words(LOCK).saying("an older token than that of"), explained=BEFORE,
        ),
    ),
)  # fmt: skip
