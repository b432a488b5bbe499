"""What the auditor sees."""

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary


class Kind(EventKind):
    """What happened in one event: its code, and the columns that it fills."""

    read = 1, "token"


AUDITED = Vocabulary("audited", Kind, (Column("token", "int64", "the lease under which the store was written last"),))
