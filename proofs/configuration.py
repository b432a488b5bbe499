"""This module reads what a user's project asks for by default: ``[tool.fencepost]`` of the nearest pyproject.toml,
upwards from the working directory. `KEYS` has its keys.

An option of a command wins. What a command has taken is in its output and its ``--json``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEYS = {
    "protocol": "a protocol by name, or the package of one's own",
    "variant": "its variant",
    "implementation": "MODULE:FACTORY of agree and the pytest plugin",
    "bootstrap": "HOST:PORT of agree and the pytest plugin",
    "properties": "a list of the properties that replay checks",
    "profile": "smoke, ci or nightly, of verify, prove and explore",
}
LISTS = ("properties",)


@dataclass(frozen=True)
class Configuration:
    """A `Configuration` has the values of a project's table, none of them if there is no table."""

    file: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> str | None:
        """Return ``PROTOCOL/VARIANT``, ``PROTOCOL`` or None."""
        parts = [self.values[key] for key in ("protocol", "variant") if key in self.values]
        return "/".join(parts) if "protocol" in self.values else None


taken: dict[str, Any] = {}
"""What the command under way has taken from a configuration, with its file, as it goes into reports."""


def configuration(start: Path | None = None) -> Configuration:
    """Return the table of the nearest pyproject.toml, from the directory ``start`` upwards, by default the working
    directory. Errors: InputError for a file that is no TOML, an unknown key, or a value of another type."""
    here = Path.cwd() if start is None else start
    file = next((each for folder in (here, *here.parents) if (each := folder / "pyproject.toml").is_file()), None)
    if file is None:
        return Configuration()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("fencepost", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise _mistake(f"{file}: this is no pyproject.toml: {error}; correct it") from None
    if not isinstance(table, dict):
        raise _mistake(f"{file}: tool.fencepost is no table; write [tool.fencepost], and its keys below it")
    for key, value in table.items():
        _require(f"{file}: [tool.fencepost]", key, value)
    if "variant" in table and "protocol" not in table:
        raise _mistake(f"{file}: [tool.fencepost] has a variant and no protocol; name the protocol that it is of")
    return Configuration(file, table)


def _mistake(says: str) -> Exception:
    from fencepost.model.language.checks.errors import InputError

    return InputError(says)


def _require(where: str, key: str, value: object) -> None:
    # Imported here: a mistake in an edited model is reported in one line once the command line itself is imported.
    from fencepost.properties.entries import PROFILES
    from fencepost.properties.nearest import instead

    if key not in KEYS:
        raise _mistake(f"{where} has no key {key!r}; {instead(key, KEYS, 'fencepost --help')}")
    if key in LISTS:
        kind, fits = "a list of texts", isinstance(value, list) and all(isinstance(each, str) for each in value)
    else:
        kind, fits = "a text", isinstance(value, str)
    if not fits:
        raise _mistake(f"{where} {key} is {value!r}, which is not {kind}; write that")
    if key == "profile" and value not in PROFILES:
        raise _mistake(f"{where} profile is {value!r}; {instead(str(value), PROFILES, 'fencepost verify --help')}")
