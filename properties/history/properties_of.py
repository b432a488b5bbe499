"""This module has the history properties of each protocol behind one interface for replays and for monitors of driven
runs.

A protocol declares them in ``properties/<protocol>/histories.py``, where the registry finds them:

    HISTORY = HistoryProperties(LOCKS, in_a_table(NO_TWO_HOLDERS, EPOCHS_GROW))

That is enough where they are declared properties (see `related`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.checking import Finding, HistoryProperty, mode_of, not_promised, reasons
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.signs import Sign
from fencepost.properties.history.spreading import IN_ONE_PLACE, Spread
from fencepost.properties.history.vocabulary import COMMON_COLUMNS, VOCABULARIES, Vocabulary
from fencepost.properties.registry import Found

NO_CONFIG: Mapping[str, Any] = MappingProxyType({})


def in_a_table(*properties: HistoryProperty[Any]) -> Mapping[str, HistoryProperty[Any]]:
    return MappingProxyType({one.name: one for one in properties})


def _no_figures(_: Any) -> dict[str, int]:
    return {}


def _nothing_refused(_: Columns) -> None:
    """Accept all histories, because all are of a kind that is judged."""


@dataclass(frozen=True)
class HistoryProperties:
    """`HistoryProperties` has the history properties of one protocol, by name, and how they are checked.

    `view` is made of the columns of a piece and the config of its manifest, and is what the kernels read; the default,
    an `EventView`, is enough for declared properties. `columns` are those that it reads (default: all). `mode` is the
    one of histories whose config names none. `figures` counts, over the view of a piece, what became of things; the
    figures of several pieces add up. `broken_by_design` has, by mode, the properties that its histories may break, as
    the documents state, and what breaks them. `module` is where they are declared. `spread_of_figures` is how the
    events of a history too large for one worker are distributed to be counted (default: they are needed in one place).
    `require` raises HistoryError on whole histories of a kind that is not judged. `values` has, by column, the words
    for its values.
    """

    vocabulary: Vocabulary
    properties: Mapping[str, HistoryProperty[Any]]
    view: Callable[[Columns, Mapping[str, Any]], Any] | None = None
    columns: tuple[str, ...] = ()
    mode: str = ""
    figures: Callable[[Any], dict[str, int]] = _no_figures
    broken_by_design: Mapping[str, frozenset[str]] = field(default_factory=dict)
    broken_by: str = ""
    module: str = ""
    spread_of_figures: Spread = IN_ONE_PLACE
    require: Callable[[Columns], None] = _nothing_refused
    values: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.columns:
            names = (*(column.name for column in COMMON_COLUMNS), *self.vocabulary.names)
            object.__setattr__(self, "columns", names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.properties)

    @cached_property
    def rules(self) -> Mapping[str, str]:
        return {name: item.rule for name, item in self.properties.items()}

    def view_of(self, columns: Columns, config: Mapping[str, Any]) -> Any:
        if self.view is not None:
            return self.view(columns, config)
        return EventView(columns, config)

    def undecidable(self, manifest: Manifest) -> dict[str, str]:
        return reasons(self.properties.values(), manifest, self.mode)

    def gone(self, manifest: Manifest) -> dict[str, str]:
        """Return the properties that are judged on what is left of some logs, each with what is gone of these."""
        mode = mode_of(manifest, self.mode)
        found = {name: item.gone(manifest, mode) for name, item in self.properties.items()}
        return {name: why for name, why in found.items() if why}

    def unpromised(self, manifest: Manifest) -> dict[str, str]:
        return not_promised(self.properties.values(), manifest, self.mode)

    def predicted(self, manifest: Manifest) -> dict[str, str]:
        """Return the properties that histories of this mode may break, as the documents state, each with the reason."""
        mode = mode_of(manifest, self.mode)
        broken = self.broken_by_design.get(mode, frozenset())
        why = f"mode {mode} does not promise it: {self.broken_by} break"
        return {name: f"{why} {item.rule}" for name, item in self.properties.items() if name in broken}

    def check(
        self, columns: Columns, names: Iterable[str] | None = None, config: Mapping[str, Any] = NO_CONFIG
    ) -> tuple[dict[str, Finding], dict[str, int]]:
        """Return the findings of the properties called `names` (default: all), and the figures, of one piece: `columns`
        of whole histories, with the config of their manifest."""
        view = self.view_of(columns, config)
        chosen: Sequence[str] = self.names if names is None else tuple(names)
        return {name: self.properties[name].on(view, columns) for name in chosen}, self.figures(view)


def _none(protocol: str) -> HistoryProperties:
    return HistoryProperties(VOCABULARIES[protocol], {})


HISTORIES: Found[HistoryProperties] = Found(
    ("histories.properties", "histories"), "HISTORY",
    write="HISTORY = HistoryProperties(…) in histories.py, or MAPPING = EventMapping(…) in events.py",
    derived=(("events",), "MAPPING", _none),
)  # fmt: skip
"""`HISTORIES` has by protocol what must hold of its histories; a protocol without an entry is compared with the model
alone."""
SIGNS: Found[tuple[Sign, ...]] = Found(("events.kinds", "events"), "SIGNS")
"""`SIGNS` has by protocol the events that are evidence of a danger."""


def properties_of(protocol: str) -> HistoryProperties:
    return replace(HISTORIES[protocol], module=HISTORIES.module_name(protocol))
