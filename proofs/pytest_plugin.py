"""This pytest plugin checks an implementation against the model: ``pytest --fencepost-implementation module:factory``.

The plugin adds one test item per variant to the run. The item passes where ``fencepost agree`` with the same options
has exit code 0, and fails otherwise: with a program where the implementation breaks a promise or differs from the
model, and with ``inconclusive: …`` where the model has actions that no run took. As ``agree`` does, it aims programs at
these first, up to as many as ``--fencepost-examples``. Of brokers, which can be made to do little, none is asked for.
An inconclusive item is not skipped, since a CI job that tried nothing should not be green; more examples, or a variant
without what is missing, make it pass.

The fixture ``fencepost_agreement`` gives the report to users' own tests. Nothing is imported or added unless an option
or the fixture asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fencepost.proofs.testing import AgreementReport
    from fencepost.properties.conformance_spec import Agreeing


REMOVED_S = 10.0
"""The topics that were made on brokers are deleted within this many seconds, or left."""


class Disagrees(Exception):
    """The implementation does what the model does not allow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add six options in a group of their own. Neither variants nor the project's configuration are looked up here,
    because loading the plugin must be cheap."""
    group = parser.getgroup("fencepost", "Kafka's exactly-once protocols")
    group.addoption(
        "--fencepost-implementation",
        metavar="MODULE:FACTORY",
        help="hold this implementation against the model of its protocol",
    )
    group.addoption(
        "--fencepost-protocol",
        metavar="PROTOCOL",
        help="that it implements, or the package of one of your own (default: id-blocks)",
    )
    group.addoption(
        "--fencepost-variant",
        action="append",
        metavar="VARIANT",
        help="of the protocol (default: its first, which is kraft, v2 or shipped); may be given again",
    )
    group.addoption(
        "--fencepost-bootstrap",
        metavar="HOST:PORT,…",
        help="drive these brokers over TCP; the implementation, if one is named, is who speaks to them",
    )
    group.addoption("--fencepost-seed", type=int, default=0, help="the same seed drives it the same way (default: 0)")
    group.addoption("--fencepost-examples", type=int, default=100, help="clusters to drive (default: 100)")


def option(config: pytest.Config, name: str) -> Any:
    """Return the value of ``--fencepost-NAME``, else of the project's [tool.fencepost], else None. Raise UsageError for
    a mistake in that."""
    from fencepost.model.language.checks.errors import InputError
    from fencepost.proofs.configuration import configuration

    given = config.getoption(f"--fencepost-{name}")
    if given is not None or name not in ("implementation", "protocol", "variant", "bootstrap"):
        return given
    try:
        values = configuration(config.rootpath).values
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    if name == "variant":  # which is of the configured protocol alone
        return [values[name]] if name in values and not config.getoption("--fencepost-protocol") else None
    return values.get(name)


def agreeing(config: pytest.Config) -> "Agreeing":
    """Return the protocol that the options ask for, as it is driven. Raise UsageError if it cannot be driven."""
    from fencepost.model.language.checks.errors import InputError
    from fencepost.proofs.cli.shared.options import public_name
    from fencepost.properties.conformance_spec import DRIVEN, driven, over_the_wire
    from fencepost.properties.registry import default

    try:
        name = public_name(option(config, "protocol") or default())
        if name not in DRIVEN:
            raise InputError(f"no implementation of {name} can be driven; these can: {', '.join(DRIVEN)}")
        if option(config, "bootstrap") is None:
            return driven(name)
        remote = over_the_wire(name)
        if remote is None:
            raise InputError(f"{name} cannot be driven over the wire, as --fencepost-bootstrap asks")
    except InputError as error:
        raise pytest.UsageError(f"--fencepost-protocol: {error}") from None
    return remote


def variants(config: pytest.Config) -> list[str]:
    """Return the variants that the options ask for, or the default one. Raise UsageError for a variant of another
    protocol."""
    of = agreeing(config)
    chosen: list[str] = option(config, "variant") or [of.variants[0]]
    if strange := [variant for variant in chosen if variant not in of.variants]:
        there = ", ".join(of.variants)
        raise pytest.UsageError(f"--fencepost-variant: {of.protocol} has no {', '.join(strange)}; it has {there}")
    return chosen


def implementation(config: pytest.Config) -> str:
    """Return the name of what is driven, or who speaks to the brokers, by default fencepost's own client."""
    return str(option(config, "implementation") or agreeing(config).reference)


def run(config: pytest.Config, variant: str) -> "AgreementReport":
    from fencepost.proofs.connection_errors import remove_topics
    from fencepost.proofs.testing import agree

    require_reachable(config)
    bootstrap, examples = option(config, "bootstrap"), config.getoption("--fencepost-examples")
    try:
        return agree(
            implementation(config),
            protocol=agreeing(config),
            variant=variant,
            seed=config.getoption("--fencepost-seed"),
            max_examples=examples,
            config={} if bootstrap is None else {"bootstrap": bootstrap},
            aimed=examples if bootstrap is None else 0,
        )
    finally:
        if bootstrap is not None:
            remove_topics(bootstrap, REMOVED_S)


def require_reachable(config: pytest.Config) -> None:
    """Raise UsageError if the implementation or the brokers do not exist, or the number of examples is below one."""
    from fencepost.proofs.cli.shared.options import import_from_here
    from fencepost.proofs.testing.engine import ImplementationError, reach
    from fencepost.reference_impl.live.tcp.connection import parse_servers

    if config.getoption("--fencepost-examples") < 1:
        raise pytest.UsageError("--fencepost-examples: at least one cluster is driven, else nothing is judged")
    import_from_here()  # as `fencepost agree` finds modules
    try:
        reach(implementation(config))
    except ImplementationError as error:
        raise pytest.UsageError(f"--fencepost-implementation: {error}") from None
    try:
        parse_servers(option(config, "bootstrap") or "127.0.0.1:1")
    except ValueError as error:
        raise pytest.UsageError(f"--fencepost-bootstrap: {error}") from None


def is_asked(config: pytest.Config) -> bool:
    """Return whether an option asks for an agreement test. A project's configuration alone is no such request, but may
    say what to drive where an option names the protocol or a variant."""
    given = {name for name in ("implementation", "bootstrap", "protocol", "variant") if _given(config, name)}
    if given & {"implementation", "bootstrap"} or not given:
        return bool(given)
    return option(config, "implementation") is not None or option(config, "bootstrap") is not None


def _given(config: pytest.Config, name: str) -> bool:
    return config.getoption(f"--fencepost-{name}") is not None


class AgreementItem(pytest.Item):
    """An `AgreementItem` fails with the shortest program on which the model and the implementation disagree."""

    def __init__(self, variant: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.variant = variant

    def runtest(self) -> None:
        from fencepost.proofs.cli.agree import as_predicted

        report = run(self.config, self.variant)
        if option(self.config, "bootstrap") is not None and as_predicted(report, agreeing(self.config)):
            return  # as of `fencepost agree`: brokers may break what their release is known to break
        for found in (report.failure, *report.differences):
            if found is not None:
                raise Disagrees(f"{found}\n\n{found.program}")
        if report.verdict == "unknown":
            raise Disagrees(f"inconclusive: {report.inconclusive}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Disagrees):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return Path(__file__), None, self.name


class Agreement(pytest.Collector):
    """This collector yields one test item per variant."""

    def collect(self) -> Iterator[pytest.Item]:
        require_reachable(self.config)
        for variant in variants(self.config):
            where = option(self.config, "bootstrap") or implementation(self.config)
            name = f"agreement[{where}-{variant}]"
            yield AgreementItem.from_parent(self, name=name, variant=variant)


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_asked(config):
        items.extend(Agreement.from_parent(session, name="fencepost", nodeid="fencepost").collect())


@pytest.fixture(scope="session")
def fencepost_agreement(pytestconfig: pytest.Config) -> "AgreementReport":
    """Return the report on what the options, or [tool.fencepost], name to be driven, for the first variant given."""
    if option(pytestconfig, "implementation") is None and option(pytestconfig, "bootstrap") is None:
        pytest.fail("fencepost_agreement has nothing to run: give --fencepost-implementation module:factory")
    return run(pytestconfig, variants(pytestconfig)[0])
