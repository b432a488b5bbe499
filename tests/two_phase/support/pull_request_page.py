"""This script writes the page on apache/kafka PR 21735: what the stored verdicts say of its rules and open questions.

    python tests/script.py tests/two_phase/support/pull_request_page.py proofs/verdicts/pr-21735.md

Nothing is searched: of a run the steps are stored. They are replayed in the present model, where they have to break
what their verdict says that they break.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from fencepost.model.rules import RULES
from fencepost.proofs.necessity.saved_runs import KeptRun, replay_of
from fencepost.proofs.necessity.search import Necessity, plan
from fencepost.proofs.necessity.tables import FOLDER, SavedFacts, digest_of
from fencepost.proofs.pages.stories import Step, lanes_of, steps_of
from fencepost.proofs.readings.failing import failing
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import bounds_of
from fencepost.properties.nearest import quantity
from fencepost.properties.two_phase.variants import RULES as OF_THE_CHANGE
from fencepost.properties.two_phase.variants import TWO_PHASE

STRONGEST = ("necessary", "liveness", "shown", "survives-bounded", "redundant")
"""The verdict on a rule is the first of these that one of its mutations or variants has."""
IN_WORDS = {"survives-bounded": "not decided", "shown": "necessary, by a variant", "liveness": "necessary for progress"}
FAILS = ("necessary", "shown")
ALLOWED = (
    "**May keepPreparedTxn be sent without enable2Pc, as the KIP has it and PR 22704 refuses?** Yes (939.30): such a "
    "request is a step of `retained` (`restart_without`), where every promise is proved. If what it finds has no "
    "time-out, what its client begins later has none either, without permission."
)
"""`test_who_is_answered` holds this sentence against the model."""
FILE = FOLDER / "two-phase.json"
AGAIN = "fencepost necessity two-phase --kept proofs/verdicts/two-phase.json --table proofs/verdicts/two-phase.md"
COMMAND = "python tests/script.py tests/two_phase/support/pull_request_page.py proofs/verdicts/pr-21735.md"


@dataclass(frozen=True)
class Question:
    """A `Question` asks whether the change may do otherwise than a rule says: as the variant of that name, or as the
    mutation of that name of the variant ``retained``."""

    asks: str
    rule: str
    alternative: str


QUESTIONS = (
    Question("May InitProducerId with keepPreparedTxn leave the clients' epoch as it is?", "939.3", "answered-alike"),
    Question("May it answer with the pair of the open transaction alone (PR 22704)?", "939.25", "one-pair"),
    Question("May the end of a retained transaction leave the clients' epoch as it is?", "939.6", "not-raised-again"),
    Question("May InitProducerId be answered while markers are under way?", "939.7", "retained-while-prepared"),
    Question("May an id keep its time-out when a producer that asks for two-phase commit retains its transaction?",
             "939.10", "retain: two_phase not updated"),
    Question("May InitProducerId be taken for a fence of records?", "939.23", "taken-for-a-fence"),
    Question("May a release take over that does not read the second pair?", "939.3", "second-pair-forgotten"),
    Question("May a repeated EndTxn be answered while markers are under way?", "939.8",
             "end_retained_again: guard 1 dropped"),
    Question("May a forced abort leave the clients' epoch as it is?", "939.16", "force_abort: guard 1 looser"),
)  # fmt: skip


class _Stored(SavedFacts):
    def has(self, key: str) -> bool:
        if not super().has(key):
            sys.exit(f"{FILE}: not every verdict is of the present models; run `{AGAIN}`, and then this script again")
        return True


def verdicts() -> list[Necessity]:
    """Return the stored verdicts. Errors: SystemExit if one is not of the present models, with what computes it."""
    return [verdict() for verdict in plan(TWO_PHASE, "smoke", earlier=_Stored(SavedFacts.read(FILE).rows))]


def is_variant(found: Necessity) -> bool:
    """Return whether a verdict is on a variant of its own, and not on a mutation."""
    return found.mutation == TWO_PHASE.variant(found.variant).says


def on(question: Question, every: Sequence[Necessity]) -> Necessity:
    """Return the verdict on the alternative of a question."""
    of_rule = [found for found in every if found.rule == question.rule]
    return next(f for f in of_rule if question.alternative == (f.variant if is_variant(f) else f.mutation))


@dataclass(frozen=True)
class Run:
    """A `Run` is a shortest run of an alternative, with the sentence on what is wrong at its end."""

    lanes: Sequence[str]
    steps: Sequence[Step]
    wrong: str

    def lines(self) -> Iterator[str]:
        """Yield a line for each actor in turn, with the numbers of its steps."""
        number = 0
        for lane, group in groupby(self.steps, lambda step: step.lane):
            mine = list(group)
            numbers = f"{number + 1}–{number + len(mine)}" if len(mine) > 1 else f"{number + 1}"
            number += len(mine)
            yield f"{numbers} *{self.lanes[lane]}*: {'; '.join(map(self._action, mine))}"

    def _action(self, step: Step) -> str:
        reached = [self.lanes[place] for place in step.reaches]
        named = ", ".join(part for part in step.words.split(", ") if part not in (*reached, self.lanes[step.lane]))
        to = f" → {', '.join(reached)}" if reached else ""
        return f"{step.action}{to}{f' ({named})' if named else ''}"

    def up_to_names(self) -> str:
        """Return the run with clients, transactions and partitions numbered in the order in which they appear."""
        seen: dict[str, dict[str, int]] = {}

        def renamed(found: re.Match[str]) -> str:
            numbers = seen.setdefault(found[1], {})
            return f"{found[1]} {numbers.setdefault(found[2], len(numbers))}"

        return re.sub(r"(client|transaction|partition) (\d+)", renamed, "\n".join(self.lines()))


def run_of(found: Necessity) -> Run:
    """Return the run of a verdict, replayed within its bounds. Errors: DoesNotFit if the model has no such run."""
    assert found.promise is not None and found.bound is not None
    item = TWO_PHASE.variant(found.variant).asked[found.promise]
    trace = replay_of(KeptRun(found.promise, (), "", tuple(found.evidence)), found.spec, item, found.bound)
    lanes = lanes_of(found.spec, trace)
    wrong = failing(Plain(found.spec, {}, found.bound), item, trace, len(trace))
    assert wrong is not None, f"{item.name} fails at the end of the run, as its replay has found"
    return Run(lanes, list(steps_of(found.spec, trace, lanes)), wrong.sentence)


def page() -> str:
    """Return the page, of what is stored for the present models."""
    every = verdicts()
    strongest = {rule: _strongest([f for f in every if f.rule == rule]) for rule in OF_THE_CHANGE}
    ordered = sorted(strongest.values(), key=lambda found: STRONGEST.index(found.verdict))
    counts = Counter(_word(found) for found in ordered)
    return "\n".join([
        "# PR 21735: keepPreparedTxn on the coordinator",
        "",
        f"Rules of [apache/kafka PR 21735](https://github.com/apache/kafka/pull/21735), with its clients and outside "
        f"store (KIP-939): {'; '.join(f'{number} {word}' for word, number in counts.items())}; of the models "
        f"{digest_of([TWO_PHASE])}. [two-phase](two-phase.md) has what the words mean, and which dangers were in. "
        f"Made by `{COMMAND}`.",
        "",
        "| verdict | rule | what it says | without it |",
        "|---|---|---|---|",
        *(f"| {_word(found)} | {found.rule} | {RULES[found.rule].says} | {_without(found)} |" for found in ordered),
        "",
        "## Questions, and the shortest run of each alternative",
        "",
        *_questions(every),
        "## Not decided, or in another variant alone",
        "",
        *_undecided(every),
        "",
        "## Computed again",
        "",
        "```sh",
        *_commands(every),
        "```",
        "",
    ])  # fmt: skip


def _undecided(every: Sequence[Necessity]) -> Iterator[str]:
    """Yield a line for each rule and reason, with the mutations that it is of."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in every:
        if each.verdict == "survives-bounded":
            found.setdefault((each.rule, each.reason.removeprefix("not decided: ")), []).append(each.mutation)
    yield from (f"- {rule}, {'; '.join(mutations)}: {reason}." for (rule, reason), mutations in found.items())


def _strongest(mine: Sequence[Necessity]) -> Necessity:
    """Return the strongest verdict, with the shortest run; undecided before redundant, since one open way is open."""
    return min(mine, key=lambda found: (STRONGEST.index(found.verdict), found.steps or 0))


def _word(found: Necessity) -> str:
    return IN_WORDS.get(found.verdict, found.verdict)


def _fails(found: Necessity) -> str:
    assert found.promise is not None
    promise = TWO_PHASE.variant(found.variant).asked[found.promise]
    steps = f" in {quantity(found.steps, 'step')}" if found.steps is not None else ": no state comes so far"
    return f"*{name_in_words(found.promise)}* ({promise.rule}) fails{steps}"


def _without(found: Necessity) -> str:
    how = found.variant if is_variant(found) else found.mutation
    match found.verdict:
        case "redundant":
            return f"every promise is proved ({how})"
        case "survives-bounded":
            return f"no promise fails within bounds, and no proof goes through ({how})"
    return f"{_fails(found)} ({how})"


def _questions(every: Sequence[Necessity]) -> Iterator[str]:
    drawn: dict[str, int] = {}
    yield from (ALLOWED, "")
    for number, question in enumerate(QUESTIONS, 1):
        found = on(question, every)
        asks = f"**{number}. {question.asks}**"
        if found.verdict not in FAILS:
            word = "Yes" if found.verdict == "redundant" else "Not decided"
            yield from (f"{asks} {word} ({found.rule}): {_without(found)}.", "")
            continue
        run = run_of(found)
        answer = f"{asks} No ({found.rule}): {_fails(found)}: {run.wrong}."
        first = drawn.setdefault(run.up_to_names(), number)
        if first != number:
            yield from (f"{answer} It is the run of question {first} again, but for the clients' numbers.", "")
            continue
        yield from (answer, *(f"- {line}" for line in run.lines()), "")


def _commands(every: Sequence[Necessity]) -> Iterator[str]:
    """Yield the commands that compute the verdicts, the page, and the run of each question."""
    yield from (AGAIN, COMMAND)
    for found in (on(question, every) for question in QUESTIONS):
        if found.verdict in FAILS:
            yield command_for(found)


def command_for(found: Necessity) -> str:
    """Return the command that searches the run of a verdict, and prints it."""
    assert found.promise is not None and found.bound is not None
    usual = bounds_of(TWO_PHASE.variant(found.variant), "smoke")
    wider = "".join(f" --bound {name}={value}" for name, value in found.bound.items() if usual[name] != value)
    without = "" if is_variant(found) else f' --without {found.rule} "{found.mutation}"'
    return f'fencepost show two-phase/{found.variant} "{name_in_words(found.promise)}"{without}{wider}'


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), page())
