"""By which end-to-end events a danger shows; see `fencepost.properties.history.signs`. What strikes the layers below
shows in their own events."""

from fencepost.properties.end_to_end.events import Kind
from fencepost.properties.history.signs import Sign

SIGNS = (
    Sign("client-crash", "instances beyond the first that poll a record",
         lambda e: e.further(e.of(Kind.polled), ("partition", "offset"), "client")),
)  # fmt: skip
