"""This module defines `agree`, which checks whether an implementation does what the model allows, as far as that is
observable.

    report = agree("mycluster:factory", protocol="…", variant="…")
    report.verdict                      # "holds": nothing was found, in so many examples
    report.failure                      # or the shortest program that disagrees, and why
"""

import importlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.connection_errors import wire_errors
from fencepost.proofs.testing.aiming import aim, untried
from fencepost.proofs.testing.continuations import going_on
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.failures import Disagreement, Signature, happened, shrink
from fencepost.proofs.testing.hanging import Hangs, limited
from fencepost.proofs.testing.observing import Observe, outside
from fencepost.proofs.testing.on_reference import printed
from fencepost.proofs.testing.search import Failure, Search
from fencepost.properties.conformance_spec import DRIVEN, FOLLOWED, Agreeing, driven
from fencepost.properties.driving import UNDER_WAY, Call, Factory, Program
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import default
from hypothesis.database import ExampleDatabase
from hypothesis.errors import Flaky

if TYPE_CHECKING:
    from fencepost.proofs.testing.pasting import Regressions

SHRUNK = 3  # the number of failures that are shrunk
LONG = 4_000
"""A program with more calls never came to rest, since the longest of the reference have some 1,200. Such a program is
shrunk only where no failure has a shorter one."""

Verdict = Literal["holds", "violated", "differs", "unknown"]
SoFar = Callable[[str], "AgreementReport"]
"""A `SoFar` returns a report of what was found until now, given the reason why the search ended."""


CALL_LIMIT = 30.0
"""A call of an implementation must return within this many seconds; those of the reference take milliseconds."""


class ImplementationError(InputError):
    """This error means that the implementation cannot be reached under that name, lacks the required interface, or is
    not deterministic."""


@dataclass(frozen=True)
class AgreementReport:
    """An `AgreementReport` is the result of a search. ``examples`` counts the systems driven, up to the one that
    failed. ``observe`` is whether everything that it emits was looked at, or only what a black box emits, and
    ``observed`` has these event kinds. ``model`` is what the implementation was compared with in addition to the
    promises, or ``none``. ``predicted`` has promises that the variant is known to break and did break, each with its
    shortest program. ``dangers`` counts how often each danger was met. ``least`` is the share of the systems that the
    model must follow to their end for *holds*, and ``least_compared`` the share of the calls that must be compared with
    it. Below these shares the verdict is *unknown*, or one `by_promises` for an implementation that emits no more than
    a black box. ``differences`` has deviations from the model that break no promise as far as was seen, where the
    search continues past them; with any of them the verdict is *differs*, unless a promise is broken. ``ended`` is why
    the search did not finish, or empty. ``untried`` has actions of the model that no run took, where programs were
    aimed at them; with any, nothing is *holds*. ``lacks`` has optional abilities that the implementation does not have,
    so that they were not tested. ``undecided`` has programs that broke a promise only if nothing was left to happen,
    and not again. ``excused`` counts, by promise, the systems in which the promise was broken as predicted, by the rule
    that lets that happen."""

    implementation: str
    protocol: str
    variant: str
    model: str
    seed: int
    verdict: Verdict
    failure: Disagreement | None
    predicted: Mapping[str, Disagreement]
    examples: int
    observed: tuple[str, ...]
    coverage: Coverage
    seconds: float
    dangers: Mapping[str, int] = field(default_factory=dict)
    least: float = 0.0
    observe: Observe = "all"
    least_compared: float = 0.0
    differences: tuple[Disagreement, ...] = ()
    ended: str = ""
    untried: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    excused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    undecided: tuple[Disagreement, ...] = ()

    @property
    def compared(self) -> float | None:
        """Return the share of the calls that were compared with the model, without those that end a program, or None
        without a model."""
        return None if self.model == "none" or not self.coverage.comparable else self.coverage.share_compared

    @property
    def systems(self) -> int:
        """Return how many systems were driven in all, of those that the model has."""
        return self.coverage.systems

    @property
    def followed(self) -> float | None:
        """Return the share of the systems that the model followed to their end, or None without a model."""
        return None if self.model == "none" else self.coverage.followed

    @property
    def inconclusive(self) -> str:
        """Return why the verdict is unknown, or an empty string if it is not."""
        if self.verdict != "unknown":
            return ""
        if self.ended:
            return f"the search ended before its time: {self.ended}"
        if len(self.undecided) >= self.examples:
            return "no program was decided"
        if self.untried:
            return f"no run took {', '.join(self.untried)} of the model, though {self.systems} programs were driven"
        left = "; ".join(f"{reason} ({count} times)" for reason, count in self.coverage.beyond.most_common())
        if self.coverage.share_compared < self.least_compared:
            return f"{self.compared:.0%} of the calls were compared, {self.least_compared:.0%} is the least: {left}"
        return (
            f"the model followed {self.followed:.0%} of {quantity(self.systems, 'program')} to their end, "
            f"{self.least:.0%} is the least: {left}"
        )

    @property
    def by_promises(self) -> bool:
        """Return whether the implementation was judged by its promises alone, because the model followed less than the
        least share."""
        too_little = self.coverage.followed < self.least or self.coverage.share_compared < self.least_compared
        return self.verdict == "holds" and too_little

    @property
    def program(self) -> str:
        """Return Python code that fails by itself when pasted, or an empty string if nothing disagrees."""
        return self.failure.program if self.failure else ""

    @property
    def never(self) -> dict[str, list[str]]:
        """Return the actions never reached, and the guards never seen true, false, or decisive."""
        return self.coverage.never()


def agree(
    implementation: str | Callable[[dict[str, Any]], Any],
    *,
    protocol: str | Agreeing | None = None,
    variant: str | None = None,
    seed: int = 0,
    max_examples: int = 100,
    steps: int | None = None,
    database: ExampleDatabase | None = None,
    config: Mapping[str, Any] | None = None,
    observe: Observe | None = None,
    observed: frozenset[str] | None = None,
    prefixes: Sequence[Sequence[Call]] = (),
    expecting: Collection[str] | None = None,
    promises_only: bool = False,
    promises: Collection[str] | None = None,
    verdict_only: bool = False,
    call_limit: float | None = CALL_LIMIT,
    saved: "Regressions | None" = None,
    aimed: int = 0,
    left_out: Collection[str] = (),
    progress: Callable[[], object] = lambda: None,
    started: Callable[["SoFar"], object] = lambda _: None,
    shrinking: Callable[[str], object] = lambda _: None,
) -> AgreementReport:
    """Drive ``implementation`` (a factory, or its name as ``module:factory``) and compare it with a variant of the
    model of ``protocol`` (default: its first), and with the promises. ``protocol`` is a name (default: the first of the
    registry), or the object with which the protocol supports agreement.

    - ``steps``: machine steps in an example, each a call or a burst of calls (default: as many as the protocol states);
    - ``config``: further keys for the factory;
    - ``observe``: whether everything that the implementation emits is compared with model and promises, or only what a
      black box emits (default: everything, and a black box where real brokers are driven);
    - ``observed``: the event kinds that the implementation emits whenever they happen (default: those of a black box,
      or found out by trying where everything is compared);
    - ``prefixes``: programs from which examples start, in addition to the empty one;
    - ``expecting``: promises (rule numbers) whose violation is no failure where it happens as the documents predict
      (default: those of the variant);
    - ``promises_only``: follow no model, which is faster and finds less;
    - ``promises``: look for violations of these alone, and for nothing else;
    - ``verdict_only``: do not compute which guards were covered, and how short a program breaks a promise as predicted;
    - ``saved``: play these programs, and drive nothing else;
    - ``aimed``: drive up to this many further programs while the model has actions that no run took, and let the
      verdict be *unknown* while it has any; ``left_out`` has actions that are not asked for;
    - ``call_limit``: seconds in which a call has to return;
    - ``progress`` is called at the start of each example; ``started`` is given, before the first, a function that
      reports on what was found so far; ``shrinking`` is given what fails, before its program is shrunk.

    The same arguments give the same report, but for ``seconds`` and what is in ``database``, and but for chance in real
    brokers. Errors: ImplementationError, and WireError where brokers are out of reach."""
    began = time.monotonic()
    protocol = protocol or default()
    if isinstance(protocol, Agreeing):
        agreeing, protocol = protocol, protocol.protocol
    elif protocol in DRIVEN:
        agreeing = driven(protocol)
    else:
        raise ValueError(f"no implementation of {protocol!r} can be driven: there are {', '.join(DRIVEN)}")
    only = None if promises is None else frozenset(promises)
    variant = agreeing.variants[0] if variant is None else variant
    if promises_only or only is not None or variant in agreeing.unfollowed:
        agreeing = replace(agreeing, follow=None, recorder="")
    if variant not in agreeing.variants:
        there = ", ".join(agreeing.variants)
        raise ValueError(f"the model of {protocol} has no variant {variant!r}: there are {there}")
    factory, name = reach(implementation)
    with _never_hanging(name or repr(implementation), call_limit):
        _require_plug(agreeing, factory, name or repr(implementation), variant, config or {})
        looked_at: Observe = observe or ("all" if agreeing.probed else "black-box")
        if looked_at == "black-box":
            factory, observed = outside(factory, agreeing.black_box), observed or agreeing.black_box
            agreeing = replace(agreeing, ending=agreeing.ending | agreeing.composite)  # too little is observed
        excused = agreeing.expecting.get(variant, frozenset()) if expecting is None else frozenset(expecting)
        search = Search(agreeing, factory, variant, config or {}, excused, observed, prefixes, only)
        search.progress, search.shrinking, search.left_out = progress, shrinking, frozenset(left_out)
        if verdict_only:
            search.coverage = Coverage.of_steps()
        found = _Found(search, name or repr(implementation), name, seed, began, looked_at, verdict_only, aimed > 0)
        started(found.so_far)
        try:
            if saved is not None:
                search.play(saved.programs)
            else:
                steps = agreeing.steps if steps is None else steps
                search.search(seed, max_examples, steps, database)
                if aimed and not search.failures and not _by_promises(search):
                    aim(search, seed, aimed, steps)
        except Flaky as error:
            raise ImplementationError(_not_deterministic(found.named, search.differing())) from error
        if agreeing.tries == 1 and not search.failures and (differing := search.differing()):
            raise ImplementationError(_not_deterministic(found.named, differing))
        return found.report()


@contextmanager
def _never_hanging(name: str, seconds: float | None) -> Iterator[None]:
    try:
        with limited(seconds):
            yield
    except Hangs as hung:
        raise ImplementationError(
            f"{name} hangs: {hung} has not returned after {seconds:g} s, so nothing is judged; "
            "give calls that take longer a higher limit, --config call_limit=SECONDS"
        ) from hung


@dataclass
class _Found:
    search: Search
    named: str
    name: str
    seed: int
    began: float
    observe: Observe
    verdict_only: bool
    aimed: bool

    def report(self) -> AgreementReport:
        search = self.search
        failure = _shortest(search, self.name, search.failures) if search.failures else None
        differences = [] if failure else _differences(search, self.name)
        broken = next((each for each in differences if each.promise or each.consequence), None)
        # What an implementation that fails does in predicted ways as well is of no interest.
        predicted = {} if failure or broken or self.verdict_only else search.predicted
        shortest = {rule: _shortest(search, self.name, [predicted[rule]], rule) for rule in sorted(predicted)}
        return self._report(failure or broken, tuple(each for each in differences if each is not broken), shortest)

    def so_far(self, ended: str) -> AgreementReport:
        """Return the report on an unfinished search that ``ended`` for this reason. No implementation is driven for
        such a report, and so nothing is shrunk."""
        failing = min(self.search.failures, key=lambda failure: len(failure.program.calls), default=None)
        failure = _described(self.search, failing, self.name, None, driving=False) if failing else None
        differing = () if failure else self.search.differences.values()
        descriptions = tuple(_described(self.search, each, self.name, None, driving=False) for each in differing)
        return self._report(failure, descriptions, {}, ended)

    def _report(
        self, failure: Disagreement | None, differences: tuple[Disagreement, ...],
        predicted: Mapping[str, Disagreement], ended: str = "",
    ) -> AgreementReport:  # fmt: skip
        search, agreeing = self.search, self.search.agreeing
        variant, model = search.variant, agreeing.follow is not None or bool(agreeing.recorder)
        least, least_compared = _least(search)
        too_little = _by_promises(search)
        never = tuple(untried(search)) if self.aimed and not too_little else ()
        # Of what emits no more than a black box most models can't follow most; its promises were judged all the same.
        too_little = too_little and not (agreeing.probed and search.observed <= agreeing.black_box)
        too_little = too_little or 0 < search.examples <= len(search.undecided)
        undecided = (_described(search, each, self.name, each.again, driving=False) for each in search.undecided)
        otherwise: Verdict = "unknown" if too_little or ended or never else "holds"
        verdict: Verdict = "violated" if failure else "differs" if differences else otherwise
        return AgreementReport(
            self.named, agreeing.protocol, variant, variant if model else "none", self.seed, verdict, failure,
            predicted, search.examples_to_failure or search.examples, tuple(sorted(search.observed)), search.coverage,
            time.monotonic() - self.began, search.exercised.counts(search.coverage), least, self.observe,
            least_compared, differences, ended, never, tuple(sorted(search.lacks)), self._excused(), tuple(undecided),
        )  # fmt: skip

    def _excused(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for (rule, excuse), count in sorted(self.search.excused.items()):
            found.setdefault(rule, {})[excuse] = count
        return found


def _least(search: Search) -> tuple[float, float]:
    """Return the least shares of systems that are followed to their end, and of calls that are compared."""
    agreeing, variant = search.agreeing, search.variant
    if agreeing.follow is None and not agreeing.recorder:
        return 0.0, 0.0
    return agreeing.followed.get(variant, FOLLOWED), agreeing.compared.get(variant, 0.0)


def _by_promises(search: Search) -> bool:
    """Return whether the model followed too little to be judged by it."""
    least, least_compared = _least(search)
    return search.coverage.followed < least or search.coverage.share_compared < least_compared


def _differences(search: Search, name: str) -> list[Disagreement]:
    """Return the deviations from the model, each by its shortest program; the first few of them are shrunk."""
    found = sorted(search.differences.items(), key=lambda each: len(each[1].program.calls))
    return [
        _shortest(search, name, [failure], difference=kind)
        if number < SHRUNK
        else _described(search, failure, name, None, driving=False)
        for number, (kind, failure) in enumerate(found)
    ]


def reach(implementation: str | Callable[..., Any]) -> tuple[Factory, str]:
    """Return the factory, and the name under which it can be imported (empty if there is none). Raise
    ImplementationError if the factory cannot be found."""
    if not isinstance(implementation, str):
        name = f"{getattr(implementation, '__module__', '')}:{getattr(implementation, '__qualname__', '<>')}"
        importable = "<" not in name and "." not in name.split(":")[1] and not name.startswith("__main__")
        return implementation, name if importable else ""
    module, _, attribute = implementation.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ImplementationError(
            f"there is no implementation {implementation!r}: {error}; give a factory as module:factory"
        ) from error
    except (Exception, SystemExit) as error:  # importing a user's module may raise any error
        raise ImplementationError(
            f"there is no implementation {implementation!r}: its import ended in {type(error).__name__}: {error}"
        ) from error
    if not callable(factory):
        raise ImplementationError(f"{implementation} is a {type(factory).__name__}, and no factory that can be called")
    return factory, implementation


def _require_plug(agreeing: Agreeing, factory: Factory, name: str, variant: str, config: Mapping[str, Any]) -> None:
    """Raise ImplementationError for an implementation that cannot be driven at all, which is no disagreement with the
    model."""
    small = {**agreeing.small, **config, "mode": variant}
    try:
        with UNDER_WAY.during("the factory"):
            system = factory(small)
    except (Exception, SystemExit) as error:  # a user's implementation may raise any error
        if isinstance(error, wire_errors()):
            raise
        raise ImplementationError(
            f"{name}: makes no cluster from {small}: {type(error).__name__}: {error}; "
            "a factory takes a config and returns a cluster"
        ) from error
    if lacks := agreeing.missing(system, variant):
        raise ImplementationError(
            f"{name}: its {type(system).__name__} lacks {', '.join(lacks)}; "
            f"{agreeing.missing.__module__} says what the plug for {variant} needs"
        )


def _shortest(
    search: Search, name: str, failing: Sequence[Failure], wanted: str = "", difference: Signature | None = None
) -> Disagreement:
    """Return the failure with the shortest program, of those that look shortest, each shrunk to one that fails for the
    same reason. With ``wanted``, the program breaks this promise, as predicted. With ``difference``, the program breaks
    no promise, and deviates from the model in this way."""

    composite, tries = search.agreeing.composite, search.agreeing.tries

    def opaque(program: Program) -> bool:
        return program.calls[-1].name in composite

    failing = sorted(failing, key=lambda failure: (opaque(failure.program), len(failure.program.calls)))[:SHRUNK]
    all_opaque = opaque(failing[0].program)
    failing = [failure for failure in failing if opaque(failure.program) == all_opaque]
    failing = [failure for failure in failing if len(failure.program.calls) <= LONG] or failing[:1]
    seen: dict[str, Failure] = {}
    patience = tries
    search.shrinking("; ".join(str(c) for c in failing[0].disagreed.conjuncts) or str(failing[0].disagreed))

    def fails_as(failure: Failure) -> Callable[[Program], Program | None]:
        reason, rules = failure.disagreed.reason, failure.disagreed.promises

        def fails(program: Program) -> Program | None:
            for _ in range(patience if search.agreeing.valid(program) else 0):
                again = search.replay(program, wanted, rules, difference)
                if again is not None and opaque(again.program) <= all_opaque and again.disagreed.reason == reason:
                    seen[repr(again.program)] = again
                    return again.program
            return None

        return fails

    failed_again = [
        (found, fails) for failure in failing if (found := (fails := fails_as(failure))(failure.program)) is not None
    ]
    if tries == 1 and len(failed_again) < len(failing):
        raise ImplementationError(_not_deterministic(name or repr(search.factory), search.differing()))
    if not failed_again:
        failed, runs = failing[0].again
        return _described(search, failing[0], name, (failed, runs + tries))
    patience = 1
    first, fails_first = failed_again[0]
    if tries > 1 and not all(fails_first(first) for _ in range(tries)):
        patience = tries
    every = [shrink(search.agreeing, program, fails) for program, fails in failed_again]
    shortest = min(every, key=lambda each: len(each.program.calls))
    shrunk = shortest.program
    rules = None if difference else seen[repr(shrunk)].disagreed.promises or None
    last = [search.replay(shrunk, wanted, rules, difference) for _ in range(tries)]
    failures = [failure for failure in last if failure is not None]
    found_last = failures[-1] if failures else seen[repr(shrunk)]
    again = (len(failures), tries) if tries > 1 else None
    return replace(_described(search, found_last, name, again), left=shortest.left)


def _not_deterministic(name: str, differing: str = "") -> str:
    return (
        f"{name} is not deterministic: the same calls on the same configuration gave something else"
        f"{f', {differing}' if differing else ''}; nothing is judged; "
        f"take all randomness from config['seed'] and all time from advance()"
    )


def _described(
    search: Search, last: Failure, name: str, again: tuple[int, int] | None, driving: bool = True
) -> Disagreement:
    """Return a failure as a disagreement. With ``driving``, the program may be continued to find the consequences."""
    evidence, conjuncts, broken = last.disagreed.evidence, last.disagreed.conjuncts, last.watch.monitor.found
    program = printed(search.agreeing, name, last.program.config, last.made, last.disagreed, search.observed)
    promise = next((f"{c.rule}: {c.text}" for c in conjuncts if c.action == "promise"), str(broken or ""))
    return Disagreement(
        str(evidence),
        conjuncts,
        promise,
        "" if promise or not driving or (again is not None and not again[0]) else _consequence(search, last),
        len(last.program.calls),
        program.text,
        again,
        tuple(happened(made, evidence) for made in last.made),
        program.remark,
    )


def _consequence(search: Search, last: Failure) -> str:
    return going_on(search.agreeing, search.factory, last.program, search.expecting, search.observed)


__all__ = ["AgreementReport", "ImplementationError", "agree", "reach"]
