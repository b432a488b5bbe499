"""The texts of a user's new protocol: those of the example under another name, or made of the actions of a model."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from types import ModuleType

from fencepost.model.language import Protocol
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tree.types import AtomsType, BoolType, EnumType, NumberType, ScalarType, scalars
from fencepost.properties.registry import imported

EXAMPLE = "lock"
VARIANT = "core"
"""The variant of a protocol whose files are made of its model."""


def example(package: str) -> dict[str, str]:
    """Return the files of the example, by name, as a protocol of that package."""
    folder = package.rpartition(".")[2]
    public, texts = folder.replace("_", "-"), dict[str, str]()
    for file in sorted(files(f"fencepost_examples.{EXAMPLE}").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".py"):
            text = file.read_text(encoding="utf-8").replace(f'"{EXAMPLE}"', f'"{public}"')
            text = re.sub(rf"\b{EXAMPLE}\.(?=P?\d)", f"{public}.", text)
            texts[file.name] = re.sub(rf"\b{EXAMPLE.upper()}\b", folder.upper(), text)
    return texts


def from_model(package: str) -> dict[str, str]:
    """Return the files of a protocol that follow from the actions of its model, by name. Raise `InputError` where
    model.py has no protocol with actions."""
    module = imported(f"{package}.model")
    own = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Protocol)]
    model = next((each for each in own if each.__module__ == module.__name__ and each.spec.actions), None)
    if model is None:
        raise InputError(
            f"{package}/model.py has no class of a Protocol with an @action; write one, or remove the file"
        )
    texts = _Texts(package.rpartition(".")[2], model.spec, module)
    return {
        "__init__.py": f'"""{texts.says}"""\n', "claims.py": texts.claims, "events.py": texts.events,
        "interface.py": texts.interface, "histories.py": texts.histories, "reference.py": texts.reference,
    }  # fmt: skip


class _Texts:
    def __init__(self, folder: str, spec: Spec, module: ModuleType) -> None:
        self.folder, self.public, self.spec, self.module = folder, folder.replace("_", "-"), spec, module
        self.says = (spec.doc or spec.name).splitlines()[0].replace('"', "'")
        self.columns: dict[str, ScalarType] = {}  # of the events, by name
        self.places: dict[str, dict[str, str]] = {}  # by action and parameter, the column
        for action in spec.actions.values():
            for parameter, kind in action.parameters:
                taken = self.columns.get(parameter, kind) != kind
                column = f"{parameter}_{kind}".lower() if taken or parameter in ("step", "kind") else parameter
                self.columns[column] = kind
                self.places.setdefault(action.name, {})[parameter] = column

    def of(self, action: Action) -> dict[str, str]:
        return self.places.get(action.name, {})

    def imports(self) -> str:
        """Return the imports of the model's class and of the types of columns."""
        names = {str(kind) for kind in self.columns.values()}
        mine = sorted({self.spec.name, *(name for name in names if hasattr(self.module, name))})
        others = sorted(name for name in names if name not in mine)
        lines = [f"from fencepost.model.language import {', '.join(others)}"] if others else []
        return "\n".join([*lines, f"from .model import {', '.join(mine)}"])

    @property
    def claims(self) -> str:
        bounds = ", ".join(f"{name}={size}" for name, size in sorted(self._bounds()))
        return f'''"""What {self.spec.name} promises, and the variants that are judged."""

from fencepost.model.language import Properties
from fencepost.properties.entries import ProtocolEntry, Variant

from .model import {self.spec.name}


class {self.spec.name}Properties(Properties, of={self.spec.name}):
    """Nothing is promised yet: write @promise, @step or @service methods, each with a witness, and lemmas."""


BOUNDS = {{"smoke": dict({bounds})}}

ENTRIES = (
    ProtocolEntry(
        "{self.public}",
        "{self.says}",
        (Variant("{VARIANT}", {self.spec.name}Properties, "as it is meant", bounds=BOUNDS),),
        {{}},  # for each bound, why exploration needs it, and why so many are enough
    ),
)
'''

    @property
    def events(self) -> str:
        kinds = "\n".join(
            f"    {name} = {code}" + (f', "{" ".join(self.of(action).values())}"' if self.of(action) else "")
            for code, (name, action) in enumerate(self.spec.actions.items(), 1)
        )
        columns = "\n".join(f'        Column("{name}", "int64", "a {kind}"),' for name, kind in self.columns.items())
        types = ", ".join(f'"{name}": {kind}' for name, kind in self.columns.items())
        steps = "\n".join(
            f'            Observation("{name}", (Do("{name}", {_quoted(self.of(action))}),)),'
            for name, action in self.spec.actions.items()
        )
        rows = "\n".join(
            f'            "{name}": [Row({", ".join([_quote(name), *_rows(self.of(action))])})],'
            for name, action in self.spec.actions.items()
        )
        return f'''"""What an implementation emits, and what each event says to the model: at first, one each step."""

from fencepost.model.language.observations import Do, Observation
from fencepost.properties.emitted_events import EmittedEvents, Row
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

{self.imports()}


class Kind(EventKind):
    """What happened in one event: its code, and the columns that it fills."""

{kinds}


{self.folder.upper()} = Vocabulary(
    "{self.public}",
    Kind,
    (
{columns}
    ),
)

MAPPING = EventMapping(
    {self.folder.upper()},
    models={{"{VARIANT}": {self.spec.name}}},
    columns={{{types}}},
    observations={{
        "{VARIANT}": (
{steps}
        )
    }},
)

EMITTED = {{
    {self.spec.name}: EmittedEvents(
        "{VARIANT}",
        {{
{rows}
        }},
    )
}}
"""What the steps of the model show, so that its runs can be made histories."""
'''

    @property
    def interface(self) -> str:
        methods = "\n".join(
            f"    def {name}(self{''.join(f', {column}: {_role(kind)}' for column, kind in self._arguments(action))})"
            f' -> bool:\n        """{_sentence(action)}"""\n'
            for name, action in self.spec.actions.items()
        )
        roles = sorted({word for kind in self.columns.values() for word in re.findall(r"[A-Z]\w+(?=\()", _role(kind))})
        further = f"\nfrom fencepost.properties.roles import {', '.join(roles)}\n" if roles else ""
        typing = "Annotated, Any, Protocol" if roles else "Any, Protocol"
        return f'''"""What an implementation offers: ``factory(config)`` makes one, of the sizes named below."""

from typing import {typing}
{further}

class System(Protocol):
    """Each call says whether it did anything."""

{methods}
    def drain_events(self) -> list[dict[str, Any]]:
        """The events since the last call, in order."""
'''

    @property
    def histories(self) -> str:
        return f'''"""What the events must satisfy, whichever system made them: so far, to be followed."""

from fencepost.properties.history.properties_of import HistoryProperties

from .events import {self.folder.upper()}

HISTORY = HistoryProperties({self.folder.upper()}, {{}})
'''

    @property
    def reference(self) -> str:
        methods = "\n".join(
            f"    def {name}({', '.join(['self', *self.of(action).values()])}):\n"
            f"        return False  # do it, and: return self.show({', '.join(_emitted(name, self.of(action)))})\n"
            for name, action in self.spec.actions.items()
        )
        return f'''"""An implementation, to be written apart from the model: as it is, no call does anything."""


class {self.spec.name}InMemory:
    """What `interface.py` asks for."""

    def __init__(self, config):
        self.config, self.events = config, []

{methods}
    def show(self, kind, **columns):
        self.events.append({{"kind": kind, **columns}})
        return True

    def drain_events(self):
        fresh, self.events = self.events, []
        return fresh


reference = {self.spec.name}InMemory
'''

    def _arguments(self, action: Action) -> Iterator[tuple[str, ScalarType]]:
        return ((column, self.columns[column]) for column in self.of(action).values())

    def _bounds(self) -> Iterator[tuple[str, int]]:
        """Yield every size that exploration needs: two of each sort, numbers up to two, and each fault once."""
        kinds = [*self.spec.types.values(), *self.spec.constants.values(), *self.columns.values()]
        found = dict.fromkeys(self.spec.constants, 2)
        for part in (part for kind in kinds for part in scalars(kind)):
            if isinstance(part, AtomsType):
                found[part.bound] = 2
            elif isinstance(part, NumberType) and part.upto is not None:
                names = (node.id for node in ast.walk(ast.parse(part.upto)) if isinstance(node, ast.Name))
                found.update(dict.fromkeys(names, 2))
        found.update({action.budget: 1 for action in self.spec.actions.values() if action.budget})
        yield from found.items()


def _quote(name: str) -> str:
    return f'"{name}"'


def _quoted(names: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": "{column}"' for name, column in names.items()) + "}"


def _rows(names: dict[str, str]) -> list[str]:
    return [f'{column}="{name}"' for name, column in names.items()]


def _emitted(name: str, names: dict[str, str]) -> list[str]:
    return [f'"{name}"', *(f"{column}={column}" for column in names.values())]


def _sentence(action: Action) -> str:
    return action.doc.splitlines()[0].replace('"', "'") if action.doc else f"The step {action.name}."


def _role(kind: ScalarType) -> str:
    match kind:
        case AtomsType():
            return f'Annotated[int, Index("{kind.bound}")]'
        case EnumType():
            return f"Annotated[int, OneOf({', '.join(map(str, range(len(kind.members))))})]"
        case BoolType():
            return "bool"
    return "Annotated[int, Between(0, 3)]"
