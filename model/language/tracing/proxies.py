"""The proxies ``s``, ``old`` and ``new`` are the state as a method sees it while it is traced."""

import difflib
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.checks.refusals import Helper
from fencepost.model.language.tracing.recording import Recorder
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import state, term
from fencepost.model.language.tree.types import MapType, SeqType


class StateProxy:
    """A `StateProxy` is ``s``: it reads variables and constants, calls helpers and records assignments."""

    def __init__(self, owner: Any, recorder: Recorder | None, primed: bool = False) -> None:
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_recorder", recorder)
        object.__setattr__(self, "_primed", primed)

    def __getattr__(self, name: str) -> Any:
        owner, recorder = self._owner, self._recorder
        if name in owner.parts:
            from fencepost.model.language.tracing.parts import PartProxy

            given = owner.parts[name]
            effects = Recorder(given.own.types, frozenset())
            return PartProxy(StateProxy(given.own, effects, self._primed), given, recorder, effects)
        if name in owner.constants:
            return Symbol(term("constant", (), name, owner.constants[name]))
        if name in owner.types:
            kind = owner.types[name]
            if recorder is not None and not isinstance(kind, MapType | SeqType):
                recorder.reading(name)
            return Symbol(state(name, kind, self._primed), recorder)
        helper = owner.helpers.get(name)
        if helper is None:
            raise mistake(f"{owner.name} has no variable or helper {name!r}", self._near(name))
        return Helper(name, helper, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._recorder is None:
            raise mistake(f"{name} is assigned outside an action", "properties and axioms only read")
        if name in self._owner.parts:
            raise mistake(f"the part {name} is assigned", f"take one of its actions: s.{name}.action(...)")
        if name in self._owner.constants:
            raise mistake(
                f"the constant {name} is assigned", "declare it as a variable, or say with @axiom what is known of it"
            )
        if name not in self._owner.types:
            raise mistake(f"{self._owner.name} has no variable {name!r} to assign", self._near(name))
        self._recorder.whole(name, value)

    def _near(self, name: str) -> str:
        owner = self._owner
        near = difflib.get_close_matches(name, [*owner.types, *owner.constants, *owner.helpers, *owner.parts], n=3)
        return (
            f"the nearest are {', '.join(near)}"
            if near
            else f"it has {', '.join(sorted(owner.types))}; another action is Class.action(s, ...)"
        )
