"""This module has arguments and options of the commands, such as protocols by name, bounds and files to write. Bad
values are refused before any work begins."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.properties import Property
from fencepost.proofs.cli.shared.interrupts import nothing_yet
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import PROFILES, CatalogueError, ProtocolEntry, Variant, find, protocols
from fencepost.properties.nearest import instead, underscored
from fencepost.properties.registry import add

if TYPE_CHECKING:  # which reads histories, for which `--help` need not wait
    from fencepost.proofs.scale.jobs import Jobs
    from fencepost.proofs.scale.units import SparkSettings


def import_from_here() -> None:
    """Make modules of the working directory importable, after everything that is installed."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


class OutputFile(click.Path):
    """An `OutputFile` is an option for a file to write. An impossible one is refused early."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        file = Path(str(super().convert(value, param, ctx)))
        if not file.parent.is_dir():
            self.fail(f"there is no directory {str(file.parent)!r} for {file.name!r}; make it first", param, ctx)
        if not os.access(file.parent, os.W_OK):
            self.fail(f"nothing can be written to the directory {str(file.parent)!r}; name another", param, ctx)
        return file


class ProtocolName(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """A `ProtocolName` is a protocol or variant by its public name, or by the package of the user's own protocol."""

    name = "protocol"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return public_name(str(value))


PROTOCOL = ProtocolName()


def _begun(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Return the file for a report, and have an interrupt write a report there even before there are results."""
    if file is not None:
        from fencepost.proofs.report import SCHEMA, cut_short, write_json

        nothing_yet(file, lambda: write_json(file, cut_short({"schema": SCHEMA})))
    return file


JSON = click.option(
    "--json", "json_file", type=OutputFile(), metavar="FILE", callback=_begun, help="Write the result to this file."
)


def _understood(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Return the file once it is clear that it can be used. Errors: CatalogueError."""
    if file is not None:
        from fencepost.reference_impl.live.tcp.security import client_security

        try:
            unused = client_security(file).unused
        except ValueError as error:
            raise CatalogueError(f"--client-config {error}") from None
        if unused:
            click.echo(f"{file}: not about connections, and not used: {', '.join(unused)}", err=True)
    return file


CLIENT_CONFIG = click.option(
    "--client-config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", callback=_understood,
    help="TLS and SASL for --bootstrap, as a properties file of Kafka's clients.",
)  # fmt: skip
PROFILE = click.option(
    "--profile", type=click.Choice(PROFILES), default="smoke", show_default=True, help="How large the bounds are."
)
BOUND = click.option(
    "--bound", "changes", multiple=True, metavar="NAME=N", help="Change one of the profile's bounds; may be repeated."
)
REDUCE = click.option(
    "--reduce", "reduced", multiple=True, type=click.Choice(("symmetry", "order")),
    help="Leave out states that differ in names alone, or steps in their order alone; may be repeated.",
)  # fmt: skip
FRESH = click.option("--fresh", is_flag=True, help="Compute again what an earlier run has cached.")
SEED = click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed gives the same result."
)

MASTER = click.option(
    "--master",
    metavar="URL",
    help="Work on Spark, with this master, local[2] or spark://HOST:PORT, rather than in processes here.",
)


CORES = click.option("--cores", type=click.IntRange(1, 1024), help="Processes that work here.  [default: one a core]")


def on_spark(master: str | None) -> "SparkSettings | None":
    from fencepost.proofs.scale.units import SparkSettings

    return None if master is None else SparkSettings(master)


def jobs_on(master: str | None, number: int) -> "AbstractContextManager[Jobs | None]":
    from fencepost.proofs.scale.jobs import Jobs

    return nullcontext() if master is None else Jobs(number, spark=on_spark(master))


def _is_there(_: click.Context, __: click.Parameter, solver: str | None) -> str | None:
    if solver is not None:
        from fencepost.proofs.engines.second.asking import require_cvc5

        require_cvc5()
    return solver


SECOND = click.option(
    "--second-opinion", "second", type=click.Choice(("cvc5",)), callback=_is_there,
    help="Ask this solver every step of a proof too.",
)  # fmt: skip


def public_name(name: str) -> str:
    """Return a name such as ``leases.fenced/core``, which names a package, as ``fenced/core``, under which the protocol
    is registered from then on.

    A name means a package if it contains a dot, or if it names no protocol but a folder of the working directory with
    Python files. Nothing else is imported from the working directory.
    """
    package, slash, variant = name.partition("/")
    if "." not in package:
        if slash and os.path.isdir(name):
            as_package = os.path.normpath(name).replace(os.sep, ".")
            raise CatalogueError(f"{name} is a folder; name it as a package: {as_package}")
        if not _is_a_folder_here(package):
            return name
    import_from_here()
    return add(package) + slash + variant


def _is_a_folder_here(package: str) -> bool:
    here = package.isidentifier() and any(Path(package).glob("*.py"))
    return here and package.replace("_", "-") not in protocols()


def complete_protocol(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    if "." in begun:  # a package is completed only if it is a protocol's
        with suppress(InputError):
            return [begun] if public_name(begun) in protocols() else []
        return []
    return [name for name in protocols() if name.startswith(begun)]


def complete_variant(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Return completions of a protocol or a variant. Variants are included once the protocol is unambiguous."""
    named = begun.partition("/")[0]
    names = complete_protocol(ctx, param, named)
    if "." in named and names:
        return [*names, *(f"{named}/{v.name}" for v in find(public_name(named))[0].variants)]
    exact = [name for name in names if begun.startswith(f"{name}/")]
    of = exact or (names if len(names) == 1 else [])
    variants = [f"{name}/{v.name}" for name in of for v in protocols()[name].variants]
    return [name for name in (*names, *variants) if name.startswith(begun)]


def chosen(name: str) -> list[tuple[ProtocolEntry, Variant]]:
    """Return the named variant, or all main variants of the named protocol."""
    entry, variant = find(name)
    return [(entry, v) for v in ([variant] if variant else [v for v in entry.variants if v.main])]


def the_one(name: str) -> tuple[ProtocolEntry, Variant]:
    """Return the named variant, or the protocol's only one. Errors: CatalogueError if there are several variants."""
    [first, *more] = chosen(name)
    if more:
        there = ", ".join(f"{entry.name}/{variant.name}" for entry, variant in (first, *more)[:3])
        raise CatalogueError(f"{name} has several variants; name one, such as {there}; fencepost list {name} has all")
    return first


def whole(name: str) -> ProtocolEntry:
    """Return the named protocol. Errors: CatalogueError if only one variant of it was named."""
    entry, variant = find(name)
    if variant is not None:
        raise CatalogueError(f"this judges a protocol as a whole, with all its variants; name {entry.name}, not {name}")
    return entry


def asked_property(entry: ProtocolEntry, variant: Variant, name: str) -> Property:
    """Return a variant's property, by its name in the code or in words. Errors: CatalogueError for any other."""
    wanted = underscored(name)
    if wanted not in variant.asked:
        there = [name_in_words(n) for n, p in variant.asked.items() if p.role != "lemma"]
        meant = instead(name, there, f"fencepost list {entry.name}/{variant.name}")
        raise CatalogueError(f"{variant.name} is not asked for a property {name!r}; {meant}")
    return variant.asked[wanted]


def config_option(says: str) -> Callable[[Any], Any]:
    return click.option("--config", "pairs", multiple=True, metavar="NAME=VALUE", help=says)


NEVER_NUMBERS = frozenset({"release", "kafka_version"})
"""Values of these keys are never numbers, though 4.3 looks like one."""


def parse_config(pairs: Iterable[str]) -> dict[str, Any]:
    """Return ``["broken=answers_before_commit", "drop=0.1"]`` as a dict, with numbers where the values are numbers."""
    parsed: dict[str, Any] = {}
    for text in pairs:
        name, equals, value = text.partition("=")
        if not equals:
            raise CatalogueError(f"--config {text!r} is not NAME=VALUE; write --config events=1000")
        try:
            read = json.loads(value)
            parsed[name] = read if isinstance(read, str) or name not in NEVER_NUMBERS else value
        except json.JSONDecodeError:
            parsed[name] = value
    return parsed


def configured(pairs: Iterable[str], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usual values with these changes. Errors: CatalogueError for an unknown name or another type."""
    given = parse_config(pairs)
    for name, value in given.items():
        if name not in usual:
            raise CatalogueError(f"--config: there is no {name!r}; {instead(name, usual, 'the help')}")
        kind = type(usual[name])
        if type(value) not in ((int, float) if kind is float else (kind,)) or (kind in (int, float) and value <= 0):
            right = {bool: "true or false", str: "text"}.get(kind, "a number above 0")
            raise CatalogueError(f"--config {name}={value} is not {right}; write that")
    return {**usual, **given}


LARGEST = 4096
DIGITS = 9
"""A bound with more than this many digits is refused, because its states would take hours, or all memory."""


def parse_bounds(changes: Iterable[str]) -> dict[str, int]:
    """Return ``["brokers=2"]`` as a dict. Errors: CatalogueError for anything else."""
    parsed: dict[str, int] = {}
    for text in changes:
        name, equals, number = text.partition("=")
        if not (name and equals and number.isascii() and number.isdigit()):
            raise CatalogueError(f"--bound {text!r} is not NAME=N with a number N from 0 on; write --bound brokers=2")
        if len(number) > DIGITS or int(number) > LARGEST:
            why = "so many take at least as many bits or values in each state, and 1,024 bits are packed"
            raise CatalogueError(f"--bound {text[:60]}: {why}; name at most {LARGEST}, or prove, which has no bounds")
        parsed[name] = int(number)
    return parsed
