"""This pytest plugin checks an implementation against the model: ``pytest --fencepost-implementation module:factory``.

The plugin adds one test item per variant to the run. The fixture ``fencepost_agreement`` gives the report to users' own
tests. Nothing is imported or added unless an option or the fixture asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fencepost.proofs.testing import AgreementReport


class Disagrees(Exception):
    """The implementation does what the model does not allow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add five options in a group of their own. Variants are not looked up here, because loading the plugin must be
    cheap."""
    from fencepost.properties.registry import default

    group = parser.getgroup("fencepost", "Kafka's exactly-once protocols")
    group.addoption(
        "--fencepost-implementation",
        metavar="MODULE:FACTORY",
        help="hold this implementation against the model of its protocol",
    )
    group.addoption(
        "--fencepost-protocol",
        metavar="PROTOCOL",
        default=default(),
        help="that it implements, or the package of one of your own (default: %(default)s)",
    )
    group.addoption(
        "--fencepost-variant",
        action="append",
        metavar="VARIANT",
        help="of the protocol (default: its first, which is kraft, v2 or shipped); may be given again",
    )
    group.addoption("--fencepost-seed", type=int, default=0, help="the same seed drives it the same way (default: 0)")
    group.addoption("--fencepost-examples", type=int, default=100, help="clusters to drive (default: 100)")


def protocol(config: pytest.Config) -> str:
    """Return the name of the protocol that the options ask for. Raise UsageError if none of the protocol's
    implementations can be driven."""
    from fencepost.proofs.cli.shared.options import public_name
    from fencepost.properties.conformance_spec import DRIVEN
    from fencepost.properties.registry import refused

    name: str = config.getoption("--fencepost-protocol")
    try:
        name = public_name(name)
        if name not in DRIVEN:
            raise refused(f"no implementation of {name} can be driven; these can: {', '.join(DRIVEN)}")
    except type(refused("")) as error:
        raise pytest.UsageError(f"--fencepost-protocol: {error}") from None
    return name


def variants(config: pytest.Config) -> list[str]:
    """Return the variants that the options ask for, or the default one. Raise UsageError for a variant of another
    protocol."""
    from fencepost.properties.conformance_spec import driven

    known = driven(protocol(config)).variants
    chosen: list[str] = config.getoption("--fencepost-variant") or [known[0]]
    if strange := [variant for variant in chosen if variant not in known]:
        there = ", ".join(known)
        raise pytest.UsageError(f"--fencepost-variant: {protocol(config)} has no {', '.join(strange)}; it has {there}")
    return chosen


def run(config: pytest.Config, variant: str) -> "AgreementReport":
    from fencepost.proofs.testing import agree

    require_reachable(config)
    return agree(
        config.getoption("--fencepost-implementation"),
        protocol=protocol(config),
        variant=variant,
        seed=config.getoption("--fencepost-seed"),
        max_examples=config.getoption("--fencepost-examples"),
    )


def require_reachable(config: pytest.Config) -> None:
    """Raise UsageError if the implementation does not exist, or the number of examples is below one."""
    from fencepost.proofs.cli.shared.options import import_from_here
    from fencepost.proofs.testing.engine import ImplementationError, reach

    if config.getoption("--fencepost-examples") < 1:
        raise pytest.UsageError("--fencepost-examples: at least one cluster is driven, else nothing is judged")
    import_from_here()  # as `fencepost agree` finds modules
    try:
        reach(config.getoption("--fencepost-implementation"))
    except ImplementationError as error:
        raise pytest.UsageError(f"--fencepost-implementation: {error}") from None


class AgreementItem(pytest.Item):
    """An `AgreementItem` fails with the shortest program on which the model and the implementation disagree."""

    def __init__(self, variant: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.variant = variant

    def runtest(self) -> None:
        report = run(self.config, self.variant)
        if report.failure is not None:
            raise Disagrees(f"{report.failure}\n\n{report.failure.program}")
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
            name = f"agreement[{self.config.getoption('--fencepost-implementation')}-{variant}]"
            yield AgreementItem.from_parent(self, name=name, variant=variant)


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fencepost-implementation"):
        items.extend(Agreement.from_parent(session, name="fencepost", nodeid="fencepost").collect())


@pytest.fixture(scope="session")
def fencepost_agreement(pytestconfig: pytest.Config) -> "AgreementReport":
    """Return the report on the implementation that ``--fencepost-implementation`` names, for the first variant
    given."""
    if not pytestconfig.getoption("--fencepost-implementation"):
        pytest.fail("fencepost_agreement has nothing to run: give --fencepost-implementation module:factory")
    return run(pytestconfig, variants(pytestconfig)[0])
