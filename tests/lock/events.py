"""What an implementation of the lock shows, and what each event says to the model."""

from fencepost.model.language.observations import Do, Observation
from fencepost.properties.emitted_events import EmittedEvents, Row
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

from .model import Client, Lock, Token


class Kind(EventKind):
    """What happened in one event: its code, and the columns that it fills."""

    granted = 1, "client token"
    expired = 2
    written = 3, "client token"
    refused = 4, "client token"


LOCK = Vocabulary(
    "lock",
    Kind,
    (
        Column("client", "int32", "who was given the lease, or writes"),
        Column("token", "int64", "the lease, by its number", "leases"),
    ),
)


def _its_token(s, e):
    return s.held[e.client] == e.token


MAPPING = EventMapping(
    LOCK,
    models={"fenced": Lock},
    columns={"client": Client, "token": Token},
    observations={
        "fenced": (
            Observation("granted", (Do("acquire", {"c": "client", "t": "token"}),)),
            Observation("expired", (Do("expire", {}),)),
            Observation("written", (Do("write", {"c": "client"}),), before=_its_token),
            Observation("refused", (Do("refuse", {"c": "client"}),), before=_its_token),
        )
    },
)


def _of_its_holder(s, p):
    return s.held[p.c]


EMITTED = {
    Lock: EmittedEvents(
        "fenced",
        {
            "acquire": [Row("granted", client="c", token="t")],
            "expire": [Row("expired")],
            "write": [Row("written", client="c", token=_of_its_holder)],
            "refuse": [Row("refused", client="c", token=_of_its_holder)],
        },
    )
}
"""What the steps of the model show, so that its runs can be made histories."""
