"""Newcomers are a call of the machines that exposes an implementation that repeats a pair."""

import pytest
from command_line import fencepost
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.properties.transactions.scenarios.lives import with_churn
from prompt import prompt

PROMPT = "prompt:prompt"
LIFE = 40  # epochs until they come again


class Forgetful:
    """This cluster starts its epochs again after forty, which takes more instances than other programs have."""

    def __init__(self, system):
        self.system = system

    def __getattr__(self, name):
        return getattr(self.system, name)

    def drain_events(self):
        observed = self.system.drain_events()
        return [e._replace(epoch=e.epoch % LIFE) if e.kind == "init_taken" and e.epoch > 0 else e for e in observed]


def forgetful(config):
    """Return a cluster that hands out (id 0, epoch 0) twice."""
    return Forgetful(prompt(config))


def test_newcomers_come_and_break_nothing():
    report = agree(PROMPT, protocol=with_churn(OVER_THE_WIRE, 4), variant="v2", max_examples=20, seed=2)
    assert report.verdict == "holds", str(report.failure) + "\n" + report.program
    assert any("newcomers" in reason for reason in report.coverage.beyond)


@pytest.mark.parametrize(("count", "verdict"), [(LIFE // 2, "holds"), (LIFE + 1, "violated")])
def test_repeated_pair_is_found_by_enough_of_them(count, verdict):
    """txn.P7: With enough newcomers two get the same pair, in a program of one call."""
    protocol = with_churn(OVER_THE_WIRE, count)
    report = agree(forgetful, protocol=protocol, variant="v1", promises={"txn.P7"}, max_examples=40, steps=8)
    assert report.verdict == verdict
    if verdict == "violated":
        assert (
            report.failure.promise
            == f"txn.P7: of {count} producers, one after another, two are given the same id and epoch"
        )
        assert report.failure.calls == 1
        with pytest.raises(AssertionError, match=r"txn\.P7"):
            exec(report.program, {"factory": forgetful})


@pytest.mark.parametrize(("count", "code"), [(LIFE // 2, 0), (LIFE + 1, 1)])
def test_newcomers_on_the_command_line(count, code):
    words = ("--implementation", "test_agreement_newcomers:forgetful", "--promise", "txn.P7")
    ran = fencepost(
        "agree", "transactions/v1", *words, "--config", f"newcomers={count}", "--examples", 40, "--steps", 8
    )
    assert ran.code == code, ran.err
    assert (f"newcomers(system, {count})" in ran.out) == bool(code)


def test_newcomers_are_producers():
    ran = fencepost("agree", "id-blocks", "--config", "newcomers=5")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "id-blocks has no producers" in ran.err
