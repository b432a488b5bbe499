"""One file that shows runs: nothing in it reaches for the network, and nothing in a run can run."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, Browser, browser
from command_line import fencepost
from fencepost.proofs.pages.page import page
from fencepost.proofs.pages.stories import Change as Changed
from fencepost.proofs.pages.stories import Standing, Step, Story

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">&lt;&amp;"
DOWN, UP, HOME = "\ue015", "\ue013", "\ue011"


def made(steps: int, lanes: int = 3, words: str = "a to b") -> Story:
    """A run of so many steps, in which the property breaks at the last."""
    reported = tuple(
        Step(
            f"step {n}", words, words, n % lanes, ((n + 1) % lanes,), ("loss",) if n == 1 else (), ("txn.1",),
            (Changed("epoch[0]", str(n), str(n + 1), False), Changed("seen[0]", words, "1", True)),
        )
        for n in range(steps)
    )  # fmt: skip
    holds = (*[True] * steps, False)
    states = tuple(
        (f"epoch: {n}", f"what: {words}", *(f"variable {i}: {n}" for i in range(25))) for n in range(steps + 1)
    )
    return Story(
        "made/up", "made up", "nothing breaks", words, f"broken after {steps} steps", False, ("within 1",),
        (f"zombie: {words}",), tuple(f"worker {n}" for n in range(lanes)), reported, states,
        (Standing("nothing breaks", words, "txn.P1", "promise", holds, steps),), steps, {"txn.1": words}, None,
    )  # fmt: skip


def test_nothing_reaches_for_the_network() -> None:
    """No element names another place, and the policy allows none to be reached."""
    text = page([made(50)])
    assert not re.findall(r"""(?:src|href|action)\s*=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)""", text)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_a_run_of_fifty_steps_is_small() -> None:
    assert len(page([made(50)]).encode()) < 300_000


def test_words_of_a_run_are_never_markup() -> None:
    text = page([made(3, words=HOSTILE)])
    assert text.count("<script") == 2 and text.count("</script") == 2
    assert "<img" not in text


def test_a_page_is_written_of_what_was_found(tmp_path: Path) -> None:
    """By each command that has runs; and where there is none, no file is left, and that is said."""
    file = tmp_path / "run.html"
    ran = fencepost("show", "id-blocks/kraft-answer-first", "disjoint blocks", "--html", file)
    assert ran.code == 0 and "disjoint blocks" in file.read_text()
    for words in (("explore", "kip618-yardstick"), ("necessity", "id-blocks", "--rule", "730.7")):
        file.unlink()
        assert fencepost(*words, "--html", file).code == 0
        assert file.read_text().startswith("<!doctype html>")
    file.unlink()
    ran = fencepost("prove", "id-blocks/kraft", "--html", file)
    assert ran.code == 0 and not file.exists()
    assert "there is no run to be seen" in ran.err


def test_a_page_of_many_verdicts_is_refused() -> None:
    ran = fencepost("necessity", "--all", "--html", "all.html")
    assert ran.code == 2 and "leave out --all" in ran.err


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    if BROWSER is None or DRIVER is None:
        pytest.skip(WHY_NOT)
    with browser() as found:
        yield found


def opened(window: Browser, folder: Path, *stories: Story, at: str = "") -> None:
    file = folder / "page.html"
    file.write_text(page(stories), encoding="utf-8")
    window.open("about:blank")
    window.open(f"file://{file}{at}")


def test_it_opens_at_the_step_that_breaks(window: Browser, tmp_path: Path) -> None:
    opened(window, tmp_path, made(5))
    assert window.count("#run .step") == 5
    assert window.text("#told h2") == "Step 5 of 5: step 4"
    assert "✗ nothing breaks [txn.P1]" in window.text("#told")
    assert window.complaints() == []


def test_keys_clicks_and_links_go_from_step_to_step(window: Browser, tmp_path: Path) -> None:
    opened(window, tmp_path, made(5))
    window.press(UP)
    assert window.text("#told h2") == "Step 4 of 5: step 3"
    assert "broken in 1 step from here" in window.text("#told")
    window.press(HOME)
    assert window.text("#told h2") == "The beginning"
    window.press(DOWN)
    window.click(".step:nth-of-type(3) .row")
    assert window.text("#told h2") == "Step 3 of 5: step 2"
    assert window.url().endswith("#run=0&step=3")
    window.click(".buttons button:nth-child(3)")
    assert window.text("#told h2").startswith("Step 4 of 5")
    opened(window, tmp_path, made(5), at="#run=0&step=2")
    assert window.text("#told h2").startswith("Step 2 of 5")


def test_a_link_to_what_is_not_there_leads_to_what_is(window: Browser, tmp_path: Path) -> None:
    for strange in ("#run=7&step=2", "#run=x", "#step=1.5", "#run=0&step=99", "#run=0&step=-1"):
        opened(window, tmp_path, made(5), at=strange)
        assert window.count("#told h2") == 1, strange


def test_of_several_runs_one_is_chosen(window: Browser, tmp_path: Path) -> None:
    opened(window, tmp_path, made(2), replace(made(4), title="another"))
    assert window.count("select option") == 2
    window.run("const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change'))")
    assert window.count("#run .step") == 4
    assert window.url().endswith("#run=1&step=4")


def test_an_endless_run_shows_where_it_goes_on(window: Browser, tmp_path: Path) -> None:
    opened(window, tmp_path, replace(made(5), loop=2))
    assert window.count("#run .again") == 1
    assert "From here it goes on as after step 2, for ever." in window.text("#told")
    opened(window, tmp_path, replace(made(5), loop=5))
    assert window.count("#run .again") == 0
    assert "And so it stays, for ever." in window.text("#told")


def test_what_is_hostile_runs_nothing(window: Browser, tmp_path: Path) -> None:
    opened(window, tmp_path, made(3, words=HOSTILE))
    assert window.run("return document.title") != "taken"
    assert window.count("img") == 0
    assert HOSTILE in window.text("#told")


@pytest.mark.parametrize(("width", "height"), [(420, 800), (1900, 1000)])
def test_two_hundred_steps_of_fifty_processes(window: Browser, tmp_path: Path, width: int, height: int) -> None:
    """Whatever is chosen can be seen, in a narrow window and in a wide one."""
    window.resize(width, height)
    opened(window, tmp_path, made(200, lanes=50))
    assert window.count("#run .step") == 200
    seen = "const r = document.querySelector('.here').getBoundingClientRect(), f = document.querySelector('#run')"
    seen += ".getBoundingClientRect(); return r.top >= f.top - 1 && r.bottom <= f.bottom + 1"
    assert window.run(seen)
    window.press(HOME)
    window.press(DOWN)
    assert window.run(seen)
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("lane", ["worker", "the partition of the transaction log, with a long name,"])
def test_words_of_steps_are_in_sight_on_a_phone(window: Browser, tmp_path: Path, lane: str) -> None:
    """They begin further on the left where their lane leaves them no room, and end in dots where the line has none;
    a wide window has them in full."""
    words = "producer id 0 epoch 0, transactional id 0, record 1, sequence 12, request 34"
    story = replace(made(6, words=words), lanes=tuple(f"{lane} {n}" for n in range(5)))
    ends = "const f = document.querySelector('#run'), r = f.getBoundingClientRect(); "
    ends += "const t = [...document.querySelectorAll('.step-name')].map((one) => one.getBoundingClientRect()); "
    ends += "const within = (b) => b.left >= r.left && b.right <= r.left + f.clientWidth; "
    ends += "return f.scrollWidth <= f.clientWidth && t.every(within)"
    last = "return document.querySelector('.breaks .step-name').firstChild.textContent + "
    last += "document.querySelector('.breaks .step-words').textContent"
    window.resize(420, 800)
    opened(window, tmp_path, story)
    assert window.run(ends)
    assert window.run(last).endswith("…")
    assert window.run("return document.querySelector('.breaks title').textContent") == f"step 5  {words}"
    window.resize(1500, 900)
    window.until(f"(() => {{ {last} }})() === 'step 5  {words}'")
    assert window.run(ends)


def test_a_long_head_leaves_the_step_in_sight(window: Browser, tmp_path: Path) -> None:
    """The page itself does not scroll in a window of a usual size, and the step that breaks is not cut."""
    window.resize(1180, 800)
    opened(window, tmp_path, replace(made(40), about=tuple(f"a line {n} of what was found" for n in range(9))))
    assert window.run("return document.documentElement.scrollHeight <= innerHeight")
    seen = "const r = document.querySelector('.here').getBoundingClientRect(), f = document.querySelector('#run')"
    assert window.run(f"{seen}.getBoundingClientRect(); return r.bottom <= f.bottom + 1 && f.bottom <= innerHeight")


PUBLISHED = {
    "kafka-17754": ("transactions/v1-verified", "nothing committed unasked"),
    "kip-618-shortcut": ("task-counts/A-shortcut-as-worded", "no zombie"),
    "kip-447-hole": ("group-fencing/draft", "nothing twice"),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published_is_of_these_models(name: str, tmp_path: Path) -> None:
    """Made anew by `fencepost show VARIANT PROPERTY --html FILE`, to the byte."""
    file = tmp_path / "run.html"
    assert fencepost("show", *PUBLISHED[name], "--html", file).code == 0
    there = Path(__file__).parents[3] / "proofs" / "verdicts" / f"{name}.html"
    assert file.read_bytes() == there.read_bytes()
    assert there.stat().st_size < 300_000


def test_of_a_random_walk(tmp_path: Path) -> None:
    """The run that simulation found, and made shorter, which is what its page says."""
    file = tmp_path / "walk.html"
    ran = fencepost("simulate", "kip618-yardstick/any-writer", "--aim", "plain", "--html", file)
    assert "counts match broke" in ran.out
    assert "found by random walks, and made shorter" in file.read_text(encoding="utf-8")
