"""What each rule is for, as `necessity` finds it anew: every row of small protocols, and chosen ones of transactions,
are the golden file's.  All rows of all protocols are compared within eight weeks of nights, by `test_golden.py`.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

import json

import golden
import pytest
from fencepost.model.language.derived.mutations import mutation, mutations
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.search import Necessity, first_broken, judge, necessity, number_of_verdicts
from fencepost.properties.catalogue import ProtocolEntry, protocols, whole_of
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS

WHOLE = (
    "id-blocks", "read-committed", "idempotence", "transactional-offsets", "transaction-log", "transaction-partitions",
    "task-count-deletion", "task-count-connectors", "exactly-once-upgrade", "config-topic", "config-topic-writes",
)  # fmt: skip
OF_TRANSACTIONS = """
core-v2 | txn.1 | initialize: guard 1 looser
core-v2 | txn.3 | initialize: guard 1 dropped
core-v2 | txn.3 | while_prepared
core-v2 | txn.7 | end: guard 1 dropped
core-v2 | txn.8 | answer_again: guard 1 dropped
core-v2 | txn.9 | end: guard 1 dropped
core-v2 | txn.12 | append: guard 1 stricter
core-v2 | txn.15 | append: guard 1 dropped
core-v2 | txn.16 | any_epoch
core-v2 | txn.19 | fail_over: markers not updated
core-v2 | txn.22 | fence_producers: guard 1 looser
core-v2 | txn.23 | not_older
core-v2 | txn.23 | only_newer
core-v1-prompt | txn.3 | old_epoch
core-v1-prompt | txn.8 | answer_again: guard 1 dropped
core-v1-prompt | txn.11 | mark: guard 1 dropped
core-v1-prompt | txn.12 | append: guard 1 dropped
core-v1-prompt | txn.12 | append: guard 1 stricter
core-v1-prompt | txn.18 | take_over: guard 1 looser
core-v1-verified | txn.15 | append: guard 2 dropped
core-v1-verified | txn.15 | any_question
core-versions | txn.24 | by_none
core-versions | txn.24 | by_the_feature
v2 | txn.2 | ask_for_epoch: guard 1 dropped
v2 | txn.5 | refuse_end: guard 1 dropped
v2-trunk | txn.25 | not_in_the_log
"""
"""(variant, rule, mutation): mistakes known from proposals, reviews and bug reports, each judged in a second
or two."""


MUTANTS = {
    "I01 answer before the commit, then a fail-over": "kraft | 730.7 | answer: guard 1 dropped",
    "I02 the next id is not advanced": "kraft | 730.8 | allocate: next not updated",
    "I04 the broker starts one late": "kraft | 730.8 | first_release_starts_one_late",
    "I05 ZooKeeper's write ignores the version": "zookeeper | 730.2 | write: guard 1 dropped",
    "I06 no reading again after a lost write": "zookeeper | 730.2 | not_read_again",
    "I08 the move while brokers still write to ZooKeeper": "bridge | 730.14 | move: guard 1 dropped",
    "I09 the snapshot leaves the record out": "kraft | 730.10 | omitted",
    "I11 an RPC idempotent per broker id": "kraft-idempotent | 730.17 | ",
    "I13 a second delivery installs the block again": "kraft | 730.19 | take: guard 1 dropped",
    "I14 the block is kept over a restart": "kraft | 730.3 | kept",
    "I17 no check at the end of the ids": "kraft | 730.16 | allocate: guard 1 dropped",
    "I18 restored without raising the next id": "bridge | 730.15 | not_carried_over",
    "F05 the leader accepts an older epoch": "idempotent | txn.12 | write: guard 1 dropped",
    "F24 the reader's limit is one too far": "read-committed | txn.17 | inclusive",
    "F25 duplicates are known over an abort": "new-epoch | txn.14 | end: expected not updated",
    "G15 pending offsets survive an abort": "transactional-offsets | txn.21 | kept_over_abort",
    "G16 an abort puts offsets in force": "transactional-offsets | txn.21 | aborted_all_the_same",
    "G17 the transaction that ends last wins": "transactional-offsets | txn.21 | in_order_of_completion",
    "G18 offsets expire under an open transaction": "transactional-offsets | txn.21 | expire: guard 1 dropped",
}
"""The mutants a suite for these protocols has to kill, and where they are among ours."""
CONTROLS = {
    "I12 a stale broker epoch is accepted": "kraft | 730.18 | allocate: guard 1 dropped",
    "I16 the broker's check off by one": "kraft | 730.20 | take: guard 1 looser",
}
"""Not to be killed: each is a second line of defence, and a property that fails without it is too strong."""
ALSO = [
    ("core-v1-prompt", "txn.3", "old_epoch", "no_zombie_write"),
    ("core-v1-prompt", "txn.12", "append: guard 1 dropped", "no_zombie_write"),
    ("core-v1-verified-prompt", "txn.15", "any_question", "nothing_committed_unasked"),
    ("core-v1-prompt", "txn.18", "take_over: guard 1 looser", "no_zombie_write"),
    ("core-v2", "txn.22", "fence_producers: guard 1 looser", "no_zombie_write"),
]
"""Promises of transactions that the proposals have in mind, and that fail later than the first."""


def row(found: Necessity) -> str:
    """As the golden file has it, without what is in other files."""
    every = found.as_dict()
    names = ("variant", "rule", "mutation", "verdict", "promise", "engine", "steps", "bound")
    return " | ".join(v if isinstance(v := every[n], str) else json.dumps(v, sort_keys=True) for n in names)


def expected(protocol: str) -> list[str]:
    return [" | ".join(line.split(" | ")[1:9]) for line in golden.recorded("necessity", protocol)]


EVERY_RUN = ("transactional-offsets", "config-topic-writes")
"""Rows of the others are found anew at night; those of `OF_TRANSACTIONS` in every run."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=[] if n in EVERY_RUN else pytest.mark.nightly(nights=12)) for n in WHOLE],
)
def found(request: pytest.FixtureRequest) -> tuple[str, list[Necessity]]:
    return request.param, necessity(protocols()[request.param], "smoke")


def test_every_row(found: tuple[str, list[Necessity]]) -> None:
    protocol, verdicts = found
    assert sorted(row(each) for each in verdicts) == sorted(expected(protocol))


@pytest.mark.parametrize("entry", [entry for entry in protocols().values() if entry.verified], ids=lambda e: e.name)
def test_as_many_rows_as_there_are_mutations(entry: ProtocolEntry) -> None:
    """Of every protocol, of which all are judged within eight weeks of nights."""
    found = sum(number_of_verdicts(each) for each in whole_of(entry))
    assert found == len(expected(entry.name))


def test_every_mechanism_is_judged() -> None:
    """All of them and all rejected alternatives, of producer id blocks; of the others those that cite their rules."""
    asked = {n for n, rule in RULES.items() if n.startswith("730.") and rule.kind in ("mechanism", "rejected")}
    assert asked <= {line.split(" | ")[1] for line in expected("id-blocks")}


def test_evidence(found: tuple[str, list[Necessity]]) -> None:
    """A run is told step by step, what waits for ever as that, and a proof names what it rests on."""
    for each in found[1]:
        steps = sum(line[:3].strip().isdigit() for line in each.evidence)
        if each.verdict in ("necessary", "shown"):
            assert each.trace is not None and each.bound is not None and steps == each.steps
        elif each.verdict == "liveness" and each.steps is not None:
            assert each.evidence[-1].endswith("for ever")
        elif each.verdict == "redundant":
            assert each.evidence[0].startswith("every promise is proved from: ")


@pytest.mark.parametrize("line", OF_TRANSACTIONS.split("\n")[1:-1])
def test_chosen_row(line: str) -> None:
    name, rule, mutant = line.split(" | ")
    variant = TRANSACTIONS.variant(name)
    found = judge(variant, mutation(variant.properties.protocol.spec, rule, mutant), "smoke")
    assert row(found) in expected("transactions")
    assert found.evidence


@pytest.mark.parametrize("name", [*MUTANTS, *CONTROLS])
def test_listed_mutant(name: str) -> None:
    """Killed by a promise or by progress, or, of the controls, proved to be redundant."""
    [found] = [line for each in WHOLE for line in expected(each) if line.startswith((MUTANTS | CONTROLS)[name])]
    assert found.split(" | ")[3] in (("redundant",) if name in CONTROLS else ("necessary", "liveness", "shown"))


@pytest.mark.parametrize(("name", "rule", "mutant", "promise"), ALSO)
def test_fails_as_well(name: str, rule: str, mutant: str, promise: str) -> None:
    variant = TRANSACTIONS.variant(name)
    spec = mutation(variant.properties.protocol.spec, rule, mutant).apply()
    assert first_broken(spec, {promise: variant.asked[promise]}, variant.bounds["smoke"]) is not None


def test_survivors_have_reasons() -> None:
    """What may survive is a mutation that there is, of a mechanism, with a sentence that says why."""
    specs = [v.properties.protocol.spec for v in TRANSACTIONS.variants if v.main]
    known = {(m.rule, m.name) for spec in specs for m in mutations(spec)}
    for mutant, reason in TRANSACTIONS.survivors.items():
        assert mutant in known and RULES[mutant[0]].kind == "mechanism" and len(reason) > 40
