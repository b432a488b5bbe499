"""A danger is in for a promise only where one search met it and some mutation breaks the promise within its bounds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost.model.language import (
    Properties,
    Protocol,
    Set,
    Sort,
    action,
    excused,
    exists,
    fault,
    forall,
    implies,
    promise,
    require,
    witness,
)  # fmt: skip
from fencepost.proofs.engines.run_engines import run_features
from fencepost.proofs.necessity import keeping, killers
from fencepost.proofs.necessity.keeping import search
from fencepost.proofs.necessity.killers import Killers, bounds_by_feature, file_of
from fencepost.proofs.necessity.ledger import Verdicts, _scopes
from fencepost.proofs.necessity.saved_runs import DoesNotFit, KeptRun, read_runs, replay, write_runs
from fencepost.proofs.results import Result
from fencepost.proofs.scope.matrix import matrix_of
from fencepost.proofs.scope.scopes import met_by, scope_lines
from fencepost.properties.catalogue import ProtocolEntry, Variant, protocols


class Item(Sort, bound="items"):
    """Something to be sold."""


class Shop(Protocol):
    """Items are sold once they are paid, and a payment may be lost before that."""

    paid: Set[Item]
    sold: Set[Item]
    outside = excused("who paid twice is paid back", "duplicate")

    @action
    def pay(s, i: Item):
        require(~s.paid[i])
        s.paid[i] = True

    @action
    def sell(s, i: Item):
        require(s.paid[i], rule="618.15")
        s.sold[i] = True

    @fault(budget="losses", danger="loss")
    def lose(s, i: Item):
        require(s.paid[i] & ~s.sold[i])
        s.paid[i] = False


class ShopProperties(Properties, of=Shop):
    """One promise about each item, and one that needs two of them."""

    @promise(rule="618.P1")
    def sold_is_paid(s):
        """What is sold is paid."""
        return forall(Item, lambda i: implies(s.sold[i], s.paid[i]))

    @promise(rule="618.P3")
    def both_are_paid(s):
        """Of two that are sold both are paid."""
        return forall(
            Item, Item, lambda i, j: implies((i != j) & s.sold[i] & s.sold[j], s.paid[i] | s.paid[j])
        )  # fmt: skip

    @witness(of="sold_is_paid")
    def one_is_sold(s):
        """One is sold."""
        return exists(Item, lambda i: s.sold[i])

    @witness(of="both_are_paid")
    def two_are_sold(s):
        """Two are sold."""
        return exists(Item, Item, lambda i, j: (i != j) & s.sold[i] & s.sold[j])


BOUNDS = {"items": 2, "losses": 0}
SHOP = Variant(
    "shop", ShopProperties, "a shop", bounds={"smoke": BOUNDS}, features={"a loss": {"items": 1, "losses": 1}},
    proof=False,
)  # fmt: skip
ENTRY = ProtocolEntry("shop", "A shop.", (SHOP,), dict.fromkeys(BOUNDS, "few"))
MISTAKE = (("618.15", "sell: guard 1 dropped"),)
RUNS = (
    KeptRun("sold_is_paid", MISTAKE, "", ("sell(i=0)",)),
    KeptRun("both_are_paid", MISTAKE, "", ("sell(i=0)", "sell(i=1)")),
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The runs in a folder of the test."""
    monkeypatch.setattr(killers, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(keeping, "folder_of", lambda _: tmp_path)
    file = file_of(SHOP)
    assert file is not None
    write_runs(file, RUNS)
    yield


def judged() -> dict[str, Result]:
    killer = Killers(SHOP, "smoke")
    return {r.property: killer.judged(r) for r in run_features(ENTRY, SHOP, "smoke")[0]}


@pytest.mark.usefixtures("kept")
def test_what_was_met_where_nothing_breaks_a_promise_is_out() -> None:
    """The loss is met with one item alone, where no mutation breaks what is said of two: with the reason, and the
    bounds."""
    one, both = (judged()[name] for name in ("sold_is_paid", "both_are_paid"))
    assert (one.verdict, both.verdict) == ("holds", "holds")
    assert ("loss" in one.scope, "loss" in both.scope, "loss" in both.out) == (True, False, True)
    assert both.within is not None
    why = "open: no mutation is known that breaks it where that is met, within those of a loss"
    assert both.within.cells["loss"].why == why
    assert (one.evidence["broken_within"], one.evidence["unbroken_within"]) == (["", "a loss"], [])
    assert (both.evidence["broken_within"], both.evidence["unbroken_within"]) == ([""], ["a loss"])
    assert one.excused == both.excused == {"duplicate": "who paid twice is paid back"}
    assert judged()["two_are_sold"].evidence["feature"] == ""
    assert "loss" not in judged()["two_are_sold"].scope  # a witness stands against what was met where it is reached


@pytest.mark.usefixtures("kept")
def test_each_set_of_promises_has_a_line_a_row_and_cells_of_its_own() -> None:
    """On the screen, on the page, where the condition of what is excused stands below the table, and in the matrix."""
    results = list(judged().values())
    reported = scope_lines(results)
    assert [line.split("; ")[:2] for line in reported] == [
        ["explore of sold is paid against loss", "excused: duplicate (where who paid twice is paid back)"],
        ["explore of both are paid against no danger of the list", reported[1].split("; ")[1]],
    ]
    found = Verdicts()
    assert {found.of(SHOP, SHOP.asked[name]) for name in ("sold_is_paid", "both_are_paid")} == {"holds-bounded"}
    rows = _scopes([ENTRY], found).splitlines()
    assert rows[2:] == [
        "| shop/shop | explore: sold is paid | loss; only under a condition: duplicate [1] |",
        "| shop/shop | explore: both are paid | no danger of the list; only under a condition: duplicate [1] |",
        "",
        "1. Where who paid twice is paid back.",
    ]
    [matrix] = matrix_of(ENTRY, [SHOP], results)
    cells = {a.property: matrix.cell(a, "explore", "loss").status for a in matrix.asked}
    assert cells == {"sold_is_paid": "in", "both_are_paid": "out"}


@pytest.mark.usefixtures("kept")
def test_keep_searches_a_run_within_each_of_the_bounds() -> None:
    """And says where there is none."""
    small = [RUNS[1], KeptRun("sold_is_paid", MISTAKE, "", ("pay(i=1)", "sell(i=1)", "sell(i=0)"))]
    file = file_of(SHOP)
    assert file is not None
    write_runs(file, small)
    found = search(SHOP, "smoke")
    assert found.missing == []
    assert [(run.property, run.feature) for run in found.new] == [("sold_is_paid", "a loss")]
    assert found.unbroken == [("both_are_paid", "a loss")]
    assert search(SHOP, "smoke", in_each=()).new == []  # as with --quick


def unearned(entry: ProtocolEntry, variant: Variant) -> list[tuple[str, str]]:
    """The cells (promise, danger) of the search that are in, though in none of its bounds the danger was met and a kept
    run breaks the promise: by the explorations and the files alone."""
    results, explored = run_features(entry, variant, "smoke")
    killer = Killers(variant, "smoke")
    file = file_of(variant)
    assert file is not None
    bounds, reading = bounds_by_feature(variant, "smoke"), () if variant.reading is None else (variant.reading,)
    found, asked = [], 0
    for r in map(killer.judged, results):
        if r.evidence["role"] not in SCOPED or r.verdict != "holds":
            continue
        asked += 1
        together: set[str] = set()
        for feature, made in explored.items():
            for run in read_runs(file):
                if run.property == r.property:
                    try:
                        replay(run, variant.properties.protocol.spec, variant.asked[r.property], bounds[feature],
                               reading=reading)  # fmt: skip
                    except DoesNotFit:
                        continue
                    together |= met_by(variant.spec, made).keys()
        found += [(r.property, danger) for danger in r.scope if danger not in together]
    assert asked, "no promise holds"
    return found


SCOPED = {"promise", "step"}
EXPLORED = [
    (e, v) for e in protocols().values() if e.verified for v in e.variants
    if v.main and v.features and SCOPED & {each.role for each in v.asked.values()}
]  # fmt: skip
"""These main variants are searched and have a promise or step, so that their results have a scope of dangers."""
CHEAP = ("id-blocks/bridge", "read-committed/cleaned")


@pytest.mark.parametrize("name", CHEAP)
def test_no_danger_is_in_without_a_mutation_in_the_same_search(name: str) -> None:
    protocol, _, variant = name.partition("/")
    assert unearned(protocols()[protocol], protocols()[protocol].variant(variant)) == []


@pytest.mark.nightly(nights=6)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("entry", "variant"), EXPLORED, ids=[f"{e.name}/{v.name}" for e, v in EXPLORED])
def test_no_danger_is_in_anywhere_without_a_mutation_in_the_same_search(entry: ProtocolEntry, variant: Variant) -> None:
    """The same of every variant that is searched within several bounds."""
    assert unearned(entry, variant) == []
