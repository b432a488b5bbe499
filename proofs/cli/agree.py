"""The command ``fencepost agree`` compares any implementation, or real brokers, with the model."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.model.language.checks.errors import InputError
from fencepost.model.rules import RULES
from fencepost.proofs.cases import Case, Outcome, of_class, of_factory
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.gate import Gate, gated
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    CLIENT_CONFIG,
    JSON,
    PROTOCOL,
    SEED,
    complete_variant,
    config_option,
    configured,
    import_from_here,
)
from fencepost.proofs.cli.shared.output import SIGNS, console, duration, errors, read_from
from fencepost.proofs.cli.shared.pages import HTML, write_pages
from fencepost.proofs.cli.shared.progress import Bar, Minutes, each_minute, spinner
from fencepost.proofs.connection_errors import remove_topics, wire_errors
from fencepost.proofs.optional_packages import how_to_install
from fencepost.proofs.provenance import judging
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA, write_json
from fencepost.properties.catalogue import CatalogueError, Variant, find
from fencepost.properties.conformance_spec import DRIVEN, WITH_CHURN, Agreeing, driven, on_a_cluster, over_the_wire
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import instead, quantity, times, underscored
from fencepost.properties.registry import called, folder, own

if TYPE_CHECKING:
    from fencepost.proofs.schemas import Agreed
    from fencepost.proofs.testing import AgreementReport
    from fencepost.proofs.testing.engine import SoFar
    from fencepost.proofs.testing.failures import Disagreement
    from fencepost.proofs.testing.pasting import Regressions

CLIENTS = {
    "raw": ("over_tcp:over_tcp", ""),
    "librdkafka": ("clients.real_client_librdkafka:librdkafka", "confluent_kafka"),
    "kafka-python": ("clients.real_client_kafka_python:kafka_python", "kafka"),
}
"""This table has each client that can speak to brokers, with its factory and the library that it needs."""
USUAL = {
    "newcomers": 0, "unclean_elections": False, "timeouts": False, "call_limit": 0.0, "release": "", "config_topic": "",
}  # fmt: skip
OWN = "own"
UNREACHED = {
    "actions": "actions of the model that no run took, and of which the runs therefore say nothing",
    "unobservable actions": "actions of the model that no event stands for, so that no run is seen to take them",
    "guards never true": "guards that were never fulfilled when they were looked at",
    "guards never false": "guards that always were, so that nothing tried what they forbid",
    "guards never decisive": "guards that were never alone in the way: the model without one would agree as well",
}
"""This table describes what the runs left untried, by the name of the list in the report."""
NAMED = 8
"""This many actions are named where something was left untried. --verbose and --json list all of them."""
REMOVED_S, REMOVED_IN_HASTE_S = 10.0, 0.5
"""The deletion of topics may take this many seconds. After an interrupted run, the second number of seconds applies."""
MOST = 10_000_000
"""A run drives at most this many clusters, and takes at most this many steps in each. Even at a hundred clusters a
second, which no protocol reaches, they take a day."""


@click.command(cls=Configured)
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@click.option(
    "--implementation", metavar="MODULE:FACTORY",
    help="What to hold against the model, or who speaks to brokers: raw, librdkafka or kafka-python.  "
    "[default: the reference]",
)  # fmt: skip
@click.option("--examples", type=click.IntRange(1, MOST), default=100, show_default=True, help="Clusters to drive.")
@click.option("--steps", type=click.IntRange(1, MOST), help="Steps of each.  [default: as many as suit the protocol]")
@click.option(
    "--from", "source", type=click.Choice(("chance", "model")), default="chance", show_default=True,
    help="Programs by chance, or the stored runs of the model that show its rules to be necessary.",
)  # fmt: skip
@click.option(
    "--promise", "promises", multiple=True, metavar="RULE",
    help="Look for violations of this promise alone, without the model; repeatable; `all` for all.",
)  # fmt: skip
@click.option(
    "--expecting", multiple=True, metavar="RULE",
    help="Its violation is no failure where the documents predict it; repeatable; or `none`.  "
    "[default: those that the variant is known to break]",
)  # fmt: skip
@click.option(
    "--observe", type=click.Choice(["black-box", "all"]),
    help="What clients and users see, or all that the implementation shows.  [default: all, of brokers black-box]",
)  # fmt: skip
@click.option("--bootstrap", metavar="HOST:PORT,…", help="Drive these brokers over TCP; they are never restarted.")
@CLIENT_CONFIG
@click.option(
    "--connect", is_flag=False, flag_value=OWN, metavar="[http://HOST:PORT]",
    help="Start a cluster of Kafka Connect from Maven, and drive its workers; or look at the one of this worker.",
)  # fmt: skip
@config_option(
    "release=4.3.1 of Kafka Connect; config_topic=NAME of a cluster of it that is looked at; "
    "newcomers=5000: so many new producers, which find ids drawn by lot; "
    "unclean_elections=true: replicas without the end of a log may lead; timeouts=true: transactions of brokers time "
    "out; call_limit=S: a longer call hangs."
)
@click.option("--verbose", is_flag=True, help="Print every guard of the model that was left untried.")
@HTML
@SEED
@JSON
@gated
def agree(
    name: str, implementation: str | None, examples: int, steps: int | None, source: str, promises: tuple[str, ...],
    expecting: tuple[str, ...], observe: Any, bootstrap: str | None, client_config: Path | None, connect: str | None,
    pairs: tuple[str, ...], verbose: bool, html_file: Path | None, seed: int, json_file: Path | None, gate: Gate,
) -> int:  # fmt: skip
    """Drive an implementation, and hold it against the model.

    It goes through deliveries, losses, copies, crashes and time, and must do what the model allows.  A failure
    prints the shortest program, which fails by itself.  Example: fencepost agree id-blocks --implementation my:factory

    With --bootstrap real brokers are driven: when each request and answer arrives, how often, or whether at all.  A
    difference from the model that breaks no promise is reported as `differs`; what cannot be read is exit code 2.

    With --connect a cluster of Kafka Connect is started, and driven by what its workers ask brokers, and by signals. It
    is held against the promises, and what is recorded of each program against all properties and the model.

    With --connect http://HOST:PORT nothing is driven and nothing written. What that cluster has now is judged: its
    config topic and transaction log at --bootstrap, and REST. What that does not decide is listed with what it takes.
    """
    from fencepost.proofs.testing import agree as run
    from fencepost.proofs.testing.engine import CALL_LIMIT
    from fencepost.proofs.testing.pasting import regressions

    agreeing, variant = driven_variant(name)
    if implementation is not None:
        import_from_here()
    promised = _promises(agreeing.protocol, variant)
    promises_only = "all" in promises
    excused = _rules("--expecting", expecting, promised)
    only = _rules("--promise", () if promises_only else promises, promised)
    settings = configured(pairs, USUAL)
    if connect not in (None, OWN):
        reader = f"fencepost.proofs.recording.{folder(agreeing.protocol)}.foreign"
        if find_spec(reader) is None or variant != agreeing.variants[0] or implementation is not None:
            raise CatalogueError("--connect URL is about a cluster that runs: write task-counts --connect URL")
        return _look(reader, connect or "", bootstrap, settings["config_topic"], client_config, json_file, gate)
    config: dict[str, Any] = {}
    if client_config is not None and (bootstrap is None or implementation in (*CLIENTS,)[1:]):
        why = "a proxy that speaks neither is before real clients" if bootstrap else "name brokers with --bootstrap"
        raise CatalogueError(f"--client-config is about TLS and SASL of brokers: {why}")
    if bootstrap is not None:
        agreeing, config = _over_the_wire(agreeing, bootstrap, settings["timeouts"])
        config |= {"client_config": str(client_config.resolve())} if client_config else {}
        if variant not in agreeing.variants:
            there = ", ".join(f"{agreeing.protocol}/{known}" for known in agreeing.variants)
            raise CatalogueError(f"--bootstrap: brokers cannot be {name}; these can be driven over the wire: {there}")
    if connect:
        agreeing, config = _on_a_cluster(agreeing, settings["release"], [implementation, bootstrap])
        if variant not in agreeing.variants:
            there = " or ".join(f"{agreeing.protocol}/{known}" for known in agreeing.variants)
            raise CatalogueError(f"--connect: a release cannot be {name}; write {there}")
    elif settings["release"]:
        raise CatalogueError("--config release is about a cluster that is started: name it with --connect")
    if settings["config_topic"]:
        raise CatalogueError("--config config_topic is about a cluster that runs: name it with --connect URL")
    if bootstrap is None and (implementation in CLIENTS or settings["timeouts"]):
        raise CatalogueError(f"{', '.join(CLIENTS)} and timeouts are about brokers: name them with --bootstrap")
    if settings["newcomers"]:
        agreeing = _with_churn(agreeing, settings["newcomers"])
    if settings["unclean_elections"]:
        if bootstrap or not any(hasattr(each, "elect_unclean") for each in agreeing.call.interface):
            raise CatalogueError("unclean_elections are of transactions, in a cluster that the driver has to itself")
        config, promises_only = {"unclean_elections": True}, True
    if implementation in CLIENTS:
        target = _client(implementation, agreeing.protocol)
        if only is None and implementation != "raw":
            # The model lacks what real clients do by themselves between two requests, so only promises are judged.
            only = frozenset(rule for rule, of in RULES.items() if rule.startswith("txn.") and of.kind == "promise")
    else:
        target = implementation or agreeing.reference
    where = f" at {bootstrap}" if bootstrap else f" of {config['release']}" if connect else ""
    variants = [v for v in find(agreeing.protocol)[0].variants if v.name == variant]
    with suppress(Exception, SystemExit):  # what an import raises is reported when the implementation is reached
        import_module(target.partition(":")[0])
    read = read_from(variants, *judging(agreeing.protocol), target.partition(":")[0])
    saved_runs = regressions(agreeing) if source == "model" else None
    if saved_runs is not None and not saved_runs.programs:
        hint = "" if saved_runs.runs else f"; fencepost mutants {called(agreeing.protocol)} --write keeps runs"
        raise CatalogueError(f"--from model: {saved_runs}, so that nothing would be driven{hint}")
    examples = len(saved_runs.programs) * len(agreeing.ways) if saved_runs is not None else examples

    def predicted(report: "AgreementReport") -> str:
        """Return why the failure is predicted. A failure of the user's own implementation never is."""
        own = implementation is not None and implementation not in CLIENTS
        return "" if excused is not None or own else as_predicted(report, agreeing)

    screen = _Screen(
        f"{target}{where}", f"{agreeing.protocol}/{variant}", bool(connect or bootstrap),
        sorted(only) if promises and only is not None else [], saved_runs, verbose, predicted,
    )  # fmt: skip
    so_far: list[SoFar] = []  # functions that report on the clusters driven so far
    made: list[AgreementReport] = []
    label = f"agreement of {target}{where}"
    progress = each_minute(label, "clusters", examples) if connect or bootstrap else spinner(label, examples)

    def report() -> "AgreementReport":
        return made[-1] if made else so_far[-1]("interrupted")

    def document() -> "Agreed":
        return _document(report(), target, bootstrap, read, saved_runs)

    def write(*, interrupted: bool = False) -> None:
        gate.write(cases(report(), target, where, variants[0], predicted(report())), interrupted=interrupted)

    def cut_off() -> None:
        screen.print(report())
        write(interrupted=True)

    ends = _cluster_ended() if connect else _topics_removed(bootstrap)
    with reported(json_file, document, lambda: so_far, cut_off), ends:
        try:
            with progress as bar:
                found = run(
                    target, protocol=agreeing, variant=variant, seed=seed, max_examples=examples, steps=steps,
                    config=config, expecting=excused, promises_only=promises_only, observe=observe, promises=only,
                    saved=saved_runs, aimed=0 if connect or bootstrap or saved_runs is not None else examples,
                    progress=bar.advance, started=so_far.append,
                    shrinking=partial(_shrinks, bar, agreeing.replays) if connect else lambda _: None,
                    call_limit=settings["call_limit"] or (None if connect or bootstrap else CALL_LIMIT),
                )  # fmt: skip
        except Exception as error:
            if so_far and isinstance(error, (InputError, *wire_errors())):
                made.append(so_far[-1](str(error)))
                if report().systems:  # of none, there is nothing to print but the error
                    screen.print(report())
                if json_file is not None:
                    write_json(json_file, document())
                write()
            raise
        made.append(found)
        screen.print(found)
        if html_file is not None:
            from fencepost.proofs.pages.programs import pages_of

            write_pages(pages_of(found), html_file)
    write()
    return 0 if found.verdict == "holds" or predicted(found) else 1


def _client(name: str, protocol: str) -> str:
    factory, library = CLIENTS[name]
    if library and find_spec(library) is None:
        raise CatalogueError(f"{name} is not installed: {how_to_install('clients')}")
    target = f"fencepost.reference_impl.live.{folder(protocol)}.{factory}"
    try:
        there = find_spec(target.partition(":")[0]) is not None
    except ModuleNotFoundError:  # the folder of the clients is missing too
        there = False
    if not there:
        raise CatalogueError(f"{name}: of {protocol} there is nothing but raw requests; leave it out")
    return target


@contextmanager
def _topics_removed(bootstrap: str | None) -> Iterator[None]:
    """Delete the topics created within the context, and name those that cannot be deleted in the time allowed."""
    patience_s = REMOVED_S
    try:
        yield
    except BaseException:
        patience_s = REMOVED_IN_HASTE_S
        raise
    finally:
        for why in remove_topics(bootstrap, patience_s) if bootstrap else ():
            errors.print(f"warning: {why}", markup=False)


@contextmanager
def _cluster_ended() -> Iterator[None]:
    """End the cluster of Connect that was started within the context."""
    from fencepost.reference_impl.live.connect.driven import end

    try:
        yield
    finally:
        end()


def _shrinks(bar: Bar | Minutes, runs: int, what: str) -> None:
    """Print what fails at once, as a cluster takes long to shrink a program."""
    bar.found = True
    found = f"found: {what}; its program is shrunk, in up to {quantity(runs, 'run')}"
    errors.print(found, markup=False, highlight=False)


@dataclass(frozen=True)
class _Screen:
    """A `_Screen` prints an agreement report. ``only`` names the promises that were asked for, if not all were."""

    who: str
    against: str
    of_brokers: bool
    only: list[str]
    saved: "Regressions | None"
    verbose: bool
    predicted: Callable[["AgreementReport"], str]

    def print(self, report: "AgreementReport") -> None:
        against = "" if report.model != "none" else " (its promises only; model: none)"
        if self.only:
            against = f" ({', '.join(self.only)} only; model: none)"
        if report.observe == "black-box":
            against += ", by what a black box shows"
        share = "" if report.followed is None else f"; {report.followed:.0%} of {report.systems} followed to their end"
        if report.followed is not None and (more := report.coverage.unmodelled):
            share += f" ({more} more judged by promises alone, as the model has no such cluster)"
        share += "" if report.compared is None else f", {report.compared:.0%} of calls compared"
        sign, driven = SIGNS[report.verdict], report.systems + report.coverage.unmodelled
        console.print(
            f"{self.who} against {self.against}{against}, seed {report.seed}: {sign} after "
            f"{quantity(report.examples, 'cluster')}{f' (of {driven} driven)' * (driven > report.examples)}, "
            f"{f'{len(report.undecided)} of them inconclusive, ' * bool(report.undecided)}"
            f"{duration(report.seconds)}{share}"
        )
        if self.saved is not None:
            console.print(f"    {self.saved}", markup=False)
        if report.inconclusive:
            console.print(f"    inconclusive: {report.inconclusive}", markup=False)
            console.print("    No promise was broken as far as they were tried; --promise all asks for no more.")
        elif report.by_promises:
            console.print("    judged by its promises alone: the model can't be followed from what a black box shows")
        elif report.ended:
            console.print(f"    The search ended before its time: {report.ended}", markup=False)
        if report.failure is not None:
            console.print(str(report.failure), markup=False)
            console.print(report.program, markup=False)
            if why := self.predicted(report):
                console.print(f"as predicted of {report.variant}: {why}", markup=False)
        for undecided in report.undecided:
            why = "it is broken only if nothing was left to happen" if undecided.promise else "it did not come to rest"
            console.print(f"inconclusive, as {why}:", markup=False)
            console.print(f"{undecided}\n{undecided.program}", markup=False)
        for difference in report.differences:
            console.print("differs from the model, and breaks no promise as far as was seen:", markup=False)
            console.print(f"{difference}\n{difference.program}", markup=False)
        for broken in report.predicted.values():
            console.print(f"as predicted of {report.variant}: {broken.promise}", markup=False)
            console.print(broken.program, markup=False)
        for rule, by in report.excused.items():
            for excuse, count in by.items():
                where = f"{quantity(count, 'cluster')} as {report.variant} allows"
                words = f"{rule} broken in {where}, and no defect: {excuse}"
                console.print(f"    {words}", markup=False)
        if report.lacks:
            lacks = "; ".join(report.lacks)
            console.print(f"    not asked, since the implementation lacks it: {lacks}", markup=False)
        for reason, count in sorted(report.coverage.beyond.items()):
            console.print(f"    not followed to the end, {times(count)}: {reason}", markup=False)
        for line in () if self.of_brokers or report.by_promises else unreached(report.never, self.verbose):
            console.print(f"    {line}", markup=False)


def _document(
    report: "AgreementReport", target: str, bootstrap: str | None, sources: dict[str, str], saved: "Regressions | None"
) -> "Agreed":
    return {
        "schema": SCHEMA, "implementation": target, "protocol": report.protocol, "variant": report.variant,
        "observe": report.observe, "observed": list(report.observed),
        "model": report.model, "seed": report.seed, "verdict": report.verdict, "examples": report.examples,
        "program": report.program,
        "predicted": {rule: broken.program for rule, broken in report.predicted.items()},
        "excused": {rule: dict(by) for rule, by in report.excused.items()},
        "dangers": dict(sorted(report.dangers.items())),
        "never": report.never, "seconds": round(report.seconds, 3),
        "failure": str(report.failure) if report.failure else None, "bootstrap": bootstrap, "sources": sources,
        "followed": report.followed, "least": report.least, "beyond": dict(report.coverage.beyond),
        "lacks": list(report.lacks), "regressions": None if saved is None else saved.as_dict,
        "differences": _programs(report.differences), "undecided": _programs(report.undecided),
        "compared": report.compared, "least_compared": report.least_compared, "ended": report.ended or None,
        "untried": list(report.untried),
    }  # fmt: skip


def cases(report: "AgreementReport", target: str, where: str, variant: Variant, predicted: str) -> list[Case]:
    """Return the case of the agreement, which fails where the exit code is 1, and one for each thing that the
    implementation lacks, and that was therefore not asked."""
    from fencepost.proofs.testing.engine import reach

    file, line = of_factory(None if where else reach(target)[0]) or of_class(variant)
    suite, by = f"{report.protocol}/{report.variant}", f"{target}{where}"
    found = [report.failure] if report.failure is not None else list(report.differences)
    details = "\n".join(f"{each}\n{each.program}" for each in found)
    broken = report.failure.promise.partition(":")[0] if report.failure is not None else ""
    ran = f"after {quantity(report.examples, 'cluster')}, seed {report.seed}"
    holds = report.verdict == "holds" or predicted
    why = f": {predicted or report.inconclusive}" if predicted or report.inconclusive else ""
    about = "What is driven does what the model allows, and keeps the promises that it was asked for."
    made = Case(
        suite, "agreement", by, "passed" if holds else "failed", f"is {report.verdict} {ran}{why}", details,
        report.seconds, broken if broken in RULES else "agreement", about, file, line,
    )  # fmt: skip
    return [made, *(Case(suite, lacks, by, "not asked", "the implementation lacks it") for lacks in report.lacks)]


def _programs(found: Sequence["Disagreement"]) -> list[dict[str, str]]:
    return [{"told": str(each), "program": each.program} for each in found]


def as_predicted(report: "AgreementReport", agreeing: Agreeing) -> str:
    """Return why the failure is predicted. Either the variant's model breaks the promise too, or the variant is a
    mistake about this very rule, or its histories break it by design. The answer is empty for an unpredicted failure,
    and where the driver itself declares what is predicted of the variant."""
    if report.failure is None or not report.failure.promise or report.variant in agreeing.expecting:
        return ""
    rule, variants = report.failure.promise.partition(":")[0], find(agreeing.protocol)[0].variants
    own = [v for v in variants if v.name == report.variant]
    asked = {n: p for v in own for n, p in v.asked.items() if n not in v.promised}
    if broken := [name_in_words(name) for name, item in asked.items() if item.rule == rule]:
        return f"its model breaks {rule} too ({', '.join(broken)})"
    if any(rule == v.rule for v in own if not v.main):
        return f"it is what becomes of the protocol without {rule}"
    history = properties_of(agreeing.protocol)
    manifest = Manifest(history.vocabulary.protocol, (), (), config={"mode": report.variant})
    reasons = (why for name, why in history.predicted(manifest).items() if history.properties[name].rule == rule)
    return next(reasons, "")


def unreached(never: Mapping[str, Sequence[str]], verbose: bool = False) -> Iterator[str]:
    """Yield lines about actions and guards that the runs left untried, the guards by action unless ``verbose``."""
    left_out = False
    for what, missing in never.items():
        by_action = Counter(each.partition(":")[0] for each in missing)
        if not missing:
            continue
        if verbose or what.endswith("actions"):
            yield f"{UNREACHED[what]}: {'; '.join(missing)}"
            continue
        named = [f"{action} ({count})" for action, count in by_action.most_common(NAMED)]
        more = [f"{len(by_action) - NAMED} more"] if len(by_action) > NAMED else []
        yield f"{UNREACHED[what]}: {len(missing)}, of {', '.join(named + more)}"
        left_out = True
    if left_out:
        yield "--verbose prints each of these guards, and --json has them"


def _promises(protocol: str, variant: str) -> dict[str, str]:
    asked = [p for v in find(protocol)[0].variants if v.name == variant for p in v.asked.values()]
    return {p.name: p.rule for p in asked if p.rule is not None and RULES[p.rule].kind == "promise"}


def _rules(option: str, names: tuple[str, ...], saved: Mapping[str, str]) -> frozenset[str] | None:
    """Return the rule numbers meant by these rules and properties, or None without any. Errors: CatalogueError."""
    rules = [saved.get(underscored(name), name) for name in names]
    for name in rules:
        if name not in RULES and name != "none":
            known = [rule for rule, item in RULES.items() if item.kind == "promise"]
            meant = instead(name, [*known, *map(name_in_words, saved)], "fencepost list --verbose")
            raise CatalogueError(f"{option}: there is no rule {name}; name promises (txn.P5) or none: {meant}")
    return frozenset(rules) - {"none"} if rules else None


def _over_the_wire(agreeing: Agreeing, bootstrap: str, timeouts: bool) -> tuple[Agreeing, dict[str, Any]]:
    """Return the protocol as real brokers are driven, and the client's configuration. Errors: CatalogueError."""
    from fencepost.reference_impl.live.tcp.connection import parse_servers

    remote = over_the_wire(agreeing.protocol)
    if remote is None:
        there = ", ".join(f"{known}/{v}" for known in DRIVEN for v in getattr(over_the_wire(known), "variants", ()))
        raise CatalogueError(f"--bootstrap: {agreeing.protocol} cannot be driven over the wire; these can: {there}")
    try:
        parse_servers(bootstrap)
    except ValueError as error:
        raise CatalogueError(f"--bootstrap: {error}; write 127.0.0.1:9092, or several with commas between") from error
    return remote, {"bootstrap": bootstrap, **({"timeouts": True} if timeouts else {})}


def _on_a_cluster(agreeing: Agreeing, release: str, others: list[str | None]) -> tuple[Agreeing, dict[str, Any]]:
    """Return the protocol as a cluster of its own is driven, and its configuration. Errors: CatalogueError."""
    from fencepost.reference_impl.live.connect.cluster import reason_to_skip
    from fencepost.reference_impl.live.connect.install import BROKERS

    own_cluster = on_a_cluster(agreeing.protocol)
    if own_cluster is None:
        there = ", ".join(known for known in DRIVEN if on_a_cluster(known) is not None)
        raise CatalogueError(f"--connect: {agreeing.protocol} has no cluster of its own to drive; these have: {there}")
    if any(others):
        raise CatalogueError("--connect starts what is driven: leave --implementation and --bootstrap out")
    if (reason := reason_to_skip()) is not None:
        raise CatalogueError(f"--connect: {reason}")
    return own_cluster, {"release": release or BROKERS}


def _look(
    reader: str, url: str, bootstrap: str | None, config_topic: str, client_config: Path | None,
    json_file: Path | None, gate: Gate,
) -> int:  # fmt: skip
    """Judge a cluster that others run by what can be read there, and return the exit code."""
    judged = import_module(reader).judged
    if not url.startswith("http://"):
        raise CatalogueError(f"--connect {url}: name a worker's REST server as http://HOST:PORT, after the protocol")
    if bootstrap is None:
        raise CatalogueError("--connect URL: no worker says where its brokers are: name them with --bootstrap")
    if json_file is not None:
        raise CatalogueError("--json has programs and what they broke, of what is driven: leave it out")
    found = judged(url.rstrip("/"), bootstrap, config_topic, client_config)
    console.print(str(found), markup=False, highlight=False)
    verdicts: list[tuple[str, Outcome, str]] = [(name, "passed", "holds") for name in found.holds]
    verdicts += [(name, "failed", f"is violated: {how}") for name, how in found.violated.items()]
    verdicts += [(name, "undecided", why) for name, why in found.undecided.items()]
    gate.write([Case(url, name, bootstrap, outcome, says, rule=name) for name, outcome, says in verdicts])
    return 1 if found.violated else 0 if found.holds else 2


def _with_churn(agreeing: Agreeing, count: int) -> Agreeing:
    if agreeing.protocol not in WITH_CHURN:
        raise CatalogueError(f"--newcomers: {agreeing.protocol} has no producers; leave it out")
    return WITH_CHURN[agreeing.protocol](agreeing, count)


def driven_variant(name: str) -> tuple[Agreeing, str]:
    """Return the protocol and the variant that are driven. Errors: CatalogueError for one that cannot be driven."""
    protocol, _, variant = name.partition("/")
    if protocol not in DRIVEN:
        entry, _variant = find(name)
        why = DRIVEN.lacking(protocol) if protocol in own() else f"these can: {', '.join(DRIVEN)}"
        raise CatalogueError(f"no implementation of {entry.name} can be driven; {why}")
    agreeing = driven(protocol)
    if not variant:
        return agreeing, agreeing.variants[0]
    if variant not in agreeing.variants:
        there = ", ".join(f"{protocol}/{known}" for known in agreeing.variants)
        raise CatalogueError(f"no implementation of {name} can be driven; name one of {there}")
    return agreeing, variant
