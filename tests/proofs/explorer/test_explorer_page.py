"""The explorer's page in a real browser: a run clicked through, taken back, linked to, searched for."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, Browser, browser
from fencepost.proofs.explorer.server import Explorer, address, application, listen, server
from fencepost.proofs.explorer.session import Place, Session

NAME = "kip618-yardstick/yardstick"
WRONG = "618.4 start_round: guard 1 dropped"
UP, DOWN, HOME, END, BACKSPACE = "\ue013", "\ue015", "\ue011", "\ue010", "\ue003"
PATH = "elect(w=0);reconfigure(w=0,n=0);start_round(w=0)"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    if BROWSER is None or DRIVER is None:
        pytest.skip(WHY_NOT)
    with browser() as found:
        found.resize(1500, 900)
        yield found


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listen() as listening:
        made = server(partial(application, Explorer(Session(Place(NAME)), most=200_000)), listening, "token")
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield address(listening, "token")
        made.shutdown()
        thread.join()


def test_the_lists_can_be_searched(window: Browser, url: str) -> None:
    """By words of a mutation and of its rule, in groups of one rule; what is chosen stays there."""
    opened(window, url)
    every = window.count("#wrong option")
    assert every > 8 and 1 < window.count("#wrong optgroup") < every
    script = (
        "const s = document.querySelector('#find-wrong'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))"
    )
    window.run(script, "dropped 618.4")
    found = window.run("return [...document.querySelectorAll('#wrong option')].map((one) => one.textContent)")
    assert found[0] == "none" and 1 < len(found) < every
    assert all("618.4" in one and "dropped" in one for one in found[1:])
    window.run(script, "")
    assert window.count("#wrong option") == every


def at(window: Browser, title: str) -> None:
    window.until(f"document.querySelector('#told h2')?.innerText === '{title}'")


def opened(window: Browser, url: str, fragment: str = "") -> None:
    window.open("about:blank")
    window.open(url + fragment)
    window.until("document.querySelector('#next h2')")


def take(window: Browser, step: str) -> None:
    window.until(f"document.querySelector('[data-step=\"{step}\"]')")
    window.click(f'[data-step="{step}"]')
    window.until(f"location.hash.includes('{step}')")


def test_a_run_is_clicked_through_and_taken_back(window: Browser, url: str) -> None:
    opened(window, url)
    at(window, "The beginning")
    for step in PATH.split(";"):
        take(window, step)
    at(window, "Step 3 of 3: start round")
    assert window.count("#run .step") == 3
    assert "CHECKED" in window.text("#told") or "round[0]" in window.text("#told")
    window.press(UP)
    at(window, "Step 2 of 3: reconfigure")
    assert window.count("#run .later") == 1
    assert window.url().endswith(f"{PATH}&step=2")
    window.press(HOME)
    at(window, "The beginning")
    window.press(DOWN)
    at(window, "Step 1 of 3: elect")
    window.press(END)
    at(window, "Step 3 of 3: start round")
    window.press(BACKSPACE)
    at(window, "Step 2 of 2: reconfigure")
    window.click("#undo")
    at(window, "Step 1 of 1: elect")
    assert window.complaints() == []


def test_another_step_from_an_earlier_place_takes_the_later_ones_away(window: Browser, url: str) -> None:
    """The one that was taken there before keeps them."""
    opened(window, url, f"#at={NAME}&path={PATH}&step=1")
    at(window, "Step 1 of 3: elect")
    assert window.count("#next .chosen") == 1
    window.click("#next .chosen")
    at(window, "Step 2 of 3: reconfigure")
    window.press(UP)
    at(window, "Step 1 of 3: elect")
    take(window, "elect(w=1)")
    at(window, "Step 2 of 2: elect")


def test_a_link_leads_to_what_it_names(window: Browser, url: str) -> None:
    opened(window, url, f"#at={NAME}&without={WRONG.replace(' ', '%20')}&bounds=tasks=2&path={PATH}&step=2")
    at(window, "Step 2 of 3: reconfigure")
    assert "Got wrong (start_round: guard 1 dropped): 618.4" in window.text("#rule")
    assert "tasks 2" in window.text(".bounds summary")
    before = window.url()
    opened(window, before.partition("#")[0], before[before.index("#") :])
    at(window, "Step 2 of 3: reconfigure")
    assert window.url() == before


@pytest.mark.parametrize(
    ("fragment", "text", "steps"),
    [
        (f"#at={NAME}&path=elect(w=0);write_count(w=0);poll(w=1)", "step 2 of the path, write_count(w=0), is not", 1),
        (f"#at={NAME}&path=elct(w=0)", "is of no action here; did you mean elect?", 0),
        ("#at=id-blocks/nope&path=x", "id-blocks has no variant 'nope'", 0),
        (f"#at={NAME}&without=618.4%20nope", 'has no mutation 618.4 "nope"', 0),
        (f"#at={NAME}&path=%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D1%3E", "<img src=x onerror", 0),
    ],
)
def test_a_link_that_does_not_fit_says_why(window: Browser, url: str, fragment: str, text: str, steps: int) -> None:
    opened(window, url, fragment)
    window.until("document.querySelector('#news p')")
    assert text in window.text("#news")
    assert window.count("#run .step") == steps
    assert window.count("img") == 0
    window.complaints()  # that a request was refused


def test_what_cannot_be_done_says_why(window: Browser, url: str) -> None:
    opened(window, url)
    assert not window.run("return document.querySelector('#cannot').open")
    window.click("#cannot summary")
    assert "needs leads[w]" in window.text("#cannot")
    take(window, "elect(w=0)")
    at(window, "Step 1 of 1: elect")
    assert window.run("return document.querySelector('#cannot').open"), "what was opened stays so"


def test_a_rule_got_wrong_shows_the_run_that_it_breaks_something_by(window: Browser, url: str) -> None:
    opened(window, url)
    script = "const s = document.querySelector('#wrong'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    window.run(script, WRONG)
    at(window, "Step 3 of 3: write count")
    assert "✗ counts match [618.P3]" in window.text("#told")
    assert window.count("#run .breaks") == 1
    window.until("document.querySelector('#news button')")
    assert "“counts match” is broken after 3 steps, and not in fewer" in window.text("#news")
    window.press(UP)
    at(window, "Step 2 of 3: start round")
    assert "breaks counts match" in window.text("#next .chosen")
    window.click("#far")
    window.until("document.querySelector('#told small')")
    assert "a nearest violation is 1 step from here" in window.text("#told")


def test_a_witness_is_gone_to(window: Browser, url: str) -> None:
    opened(window, url)
    window.click("[data-property=a_second_count]")
    at(window, "Step 7 of 7: write count")
    assert "“a second count” is reached after 7 steps" in window.text("#news")


def test_an_endless_run_is_a_path_that_goes_on(window: Browser, url: str) -> None:
    opened(window, url, "#at=transactions/v1-hanging")
    window.click("[data-property=decided_in_the_end]")
    window.until("document.querySelector('#told .loop')")
    assert "for ever" in window.text("#told .loop")
    before = window.url()
    assert "&loop=" in before
    opened(window, before.partition("#")[0], before[before.index("#") :])
    window.until("document.querySelector('#told .loop')")


def test_steps_are_taken_by_keyboard_alone(window: Browser, url: str) -> None:
    """After a step the first of the next ones has the focus."""
    opened(window, url)
    window.run("document.querySelector('.steps button').focus()")
    for steps in (1, 2, 3):
        window.press("\ue007")
        window.until(f"document.querySelectorAll('#run .step').length === {steps}")
        window.until("document.activeElement.matches('.steps button')")


@pytest.mark.parametrize(("width", "height"), [(420, 800), (1000, 800), (1900, 1000)])
def test_nothing_is_cut_off_in_any_window(window: Browser, url: str, width: int, height: int) -> None:
    """The page itself does not scroll to the side, and the step that one stands on is in sight."""
    window.resize(width, height)
    opened(window, url, f"#at={NAME}&path=" + ";".join(["elect(w=0)", "elect(w=1)"] * 30))
    window.until("document.querySelector('.here')")
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    seen = "const r = document.querySelector('.here').getBoundingClientRect(), f = document.querySelector('#run')"
    assert window.run(f"{seen}.getBoundingClientRect(); return r.top >= f.top - 1 && r.bottom <= f.bottom + 1")
    window.resize(1500, 900)
