"""This module gives a command the defaults of the user's project (see `configuration`), which its options override."""

import os
from typing import Any

import click
from click.core import ParameterSource
from fencepost.proofs.cli.shared.output import console
from fencepost.proofs.configuration import Configuration, configuration, taken

OF_A_PROTOCOL = ("implementation", "bootstrap", "checks")
"""These parameters fit the configured protocol, and are not taken where the command names another."""
OF_A_SYSTEM = ("implementation", "bootstrap")
"""These parameters are not taken where the command says by ``--connect`` what to drive."""


class Configured(click.Command):
    """A `Configured` command takes parameters that the command line does not name from ``[tool.fencepost]``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        found = configuration()
        usual = _defaults(found)
        ctx.default_map = {name: value for name, value in usual.items() if any(p.name == name for p in self.params)}
        rest = super().parse_args(ctx, args)
        for param in self.params:
            if param.name in OF_A_PROTOCOL and _from_project(ctx, param.name) and _is_left_out(ctx, param.name, found):
                ctx.params[param.name] = () if param.multiple else None
                ctx.set_parameter_source(param.name, ParameterSource.DEFAULT)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        taken.clear()
        values = {name: value for name, value in ctx.params.items() if _from_project(ctx, name)}
        if values:
            file = str(configuration().file)
            taken.update(file=file, values={n: list(v) if isinstance(v, tuple) else v for n, v in values.items()})
            words = ", ".join(f"{_called(self, name)} {_as_text(value)}" for name, value in values.items())
            console.print(f"from [tool.fencepost] of {os.path.relpath(file)}: {words}", markup=False)
        return super().invoke(ctx)


def _defaults(found: Configuration) -> dict[str, Any]:
    """Return the configured values by the names of parameters."""
    values = found.values
    usual = {name: values[name] for name in ("implementation", "bootstrap", "profile") if name in values}
    if found.variant is not None:
        protocol = values["protocol"]
        usual |= {"name": found.variant, "names": [protocol]} | ({"packages": [protocol]} if "." in protocol else {})
    return usual | ({"checks": values["properties"]} if "properties" in values else {})


def _from_project(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def _is_left_out(ctx: click.Context, name: str, found: Configuration) -> bool:
    if ctx.params.get("connect") and name in OF_A_SYSTEM:
        return True
    asked = ctx.params.get("name")
    if not asked or _from_project(ctx, "name") or found.variant is None:
        return False
    last = found.variant.partition("/")[0].rpartition(".")[2].replace("_", "-")
    return bool(asked.partition("/")[0] != last)


def _called(command: click.Command, name: str) -> str:
    option = next(p for p in command.params if p.name == name)
    return option.opts[0] if isinstance(option, click.Option) else "protocol"


def _as_text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple | list) else str(value)
