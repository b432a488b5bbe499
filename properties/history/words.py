"""How a violated property is told: one line that names the events concerned and where they stand."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.vocabulary import Vocabulary

Tell = Callable[[Any, int, int], str]
_EVENT = re.compile(r"\b(\w+) at step (\d+) \([^()]*\)")
_KIND = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?= at step )")


def without_columns(words: str) -> str:
    """A violation without the columns of its events, which `Words.event` gives in brackets."""
    return _KIND.sub(lambda kind: kind[0].replace("_", " "), _EVENT.sub(r"\1 at step \2", words))


class Words:
    """The words of one protocol: `hidden` columns are of no help to a reader, `names` are those of values."""

    def __init__(
        self, vocabulary: Vocabulary, hidden: tuple[str, ...] = (),
        names: Mapping[str, Mapping[int, str]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._vocabulary, self._names = vocabulary, names
        self._absent = {column.name: column.absent for column in vocabulary.columns}
        self._used = {kind: [name for name in used if name not in hidden] for kind, used in vocabulary.used_by.items()}

    def saying(self, between: str, alone: str = "") -> Tell:
        """Words for a violation: its event, `between`, and the event that explains it; or `alone` where there is
        none."""

        def tell(view: EventView, at: int, other: int) -> str:
            if other < 0:
                return f"{self.event(view, at)}: {alone or between}"
            return f"{self.event(view, at)}: {between} {self.event(view, other)}"

        return tell

    def event(self, view: EventView, row: int) -> str:
        """`record_read at step 12 (client 1000, partition 0, offset 3, record 5)`."""
        code, step = int(view.columns["kind"][row]), int(view.columns["step"][row])
        kind = self._vocabulary.kinds(code).name
        values = [(name, int(view.columns[name][row])) for name in self._used[kind]]
        told = ", ".join(
            f"{name.replace('_', ' ')} {self._names.get(name, {}).get(value, value)}"
            for name, value in values
            if value != self._absent[name]
        )
        return f"{kind} at step {step} ({told})"
