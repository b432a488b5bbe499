"""To which transactional id an event of a history belongs, as the model has only one.

An event belongs to the id that it names, or else to that of its transaction, record, request, producer id or client.
A fail-over happens in every lane, and so does the reading of a group's offset, which looks at what all have there.
Left out, since they say nothing about the model's state: that an instance starts, stops or fails (`client_started`,
`client_stopped`, `client_failed`), that a send is given up (`record_failed`), where the last stable offset is
(`stable_moved`) and what a fetch covers (`fetched`: its records have events of their own).
"""

from fencepost.properties.cutting import Belonging
from fencepost.properties.transactions.history.events import Kind

SENT = (Kind.init_sent, Kind.add_sent, Kind.record_sent, Kind.end_sent)
TAKEN = (Kind.init_taken, Kind.fence_told)
_OF_TXN = (Kind.txn_begun, Kind.add_sent, Kind.record_sent, Kind.end_sent)
_APPENDS = (Kind.batch_appended, Kind.batch_duplicate, Kind.batch_refused)

LANES = Belonging(
    "txn_id",
    names={
        "client": (Kind.client_started, Kind.init_sent, *_OF_TXN),
        "txn": _OF_TXN,
        "request": SENT,
        "record": (Kind.record_sent,),
        "producer_id": (Kind.init_sent, *_OF_TXN, Kind.init_handled, Kind.txn_logged),
    },
    owners={
        "client": (Kind.init_taken,),
        "txn": (Kind.add_taken, Kind.record_acked, Kind.end_told),
        "request": (*_APPENDS, Kind.check_asked),
        "record": (*_APPENDS, Kind.record_read, Kind.record_seen),
        "producer_id": (Kind.check_asked, Kind.marker_appended, Kind.marker_refused),
    },
    everywhere=(Kind.coordinator_loaded, Kind.leader_changed, Kind.offset_fetched),
    left_out=(
        Kind.client_started, Kind.client_stopped, Kind.client_failed, Kind.record_failed, Kind.stable_moved,
        Kind.fetched,
    ),
)  # fmt: skip
