"""A model that is edited while the explorer is open: the page has the edited one, or one line on why there is none."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import BROWSER, DRIVER, WHY_NOT, Browser, browser
from command_line import serving

LOCK = Path(__file__).parents[2] / "lock"
RUN = "acquire(c=0,t=1);write(c=0);expire();acquire(c=1,t=2)"
NEEDED = "        require(s.owner != None)  # noqa: E711\n"
PATIENCE_S = 300
"""The model is loaded in seconds of work, which a loaded machine may take minutes for."""


@pytest.fixture
def window() -> Iterator[Browser]:
    if BROWSER is None or DRIVER is None:
        pytest.skip(WHY_NOT)
    with browser() as found:
        yield found


def news(window: Browser, words: str) -> str:
    """What the page says, once these words are in it."""
    end = time.monotonic() + PATIENCE_S
    while words not in (told := window.text("#news")):
        assert time.monotonic() < end, f"{words!r} is not in {told!r}"
        time.sleep(0.1)
    return told


def test_an_edited_model_is_loaded_and_the_run_stays(window: Browser, tmp_path: Path) -> None:
    """As far as its steps are still enabled; what does not import leaves the model before, and says where it fails."""
    model = Path(shutil.copytree(LOCK, tmp_path / "lock", ignore=shutil.ignore_patterns("__pycache__"))) / "model.py"
    text = model.read_text()
    with serving("lock/fenced", "--no-browser", cwd=tmp_path) as (_, url):
        window.open(f"{url}#at=lock/fenced&path={RUN}")
        window.until("document.querySelectorAll('#run .step').length === 4")
        window.until("performance.getEntriesByName(new URL('edition', location).href).length")

        model.write_text(text.replace(NEEDED, f"{NEEDED}        require(s.stored == 0)\n"))
        told = news(window, "model.py was edited, and the model is loaded again.")
        assert "step 3 of the path, expire(), is not possible there: it needs stored = 0" in told
        assert window.count("#run .step") == 2 and window.url().startswith(url)
        assert window.url().endswith("path=acquire(c=0,t=1);write(c=0)")
        window.click('[data-step="write(c=0)"]')
        window.until("document.querySelectorAll('#run .step').length === 3")

        model.write_text(f"{text}\nbroken = (\n")
        line = len(text.splitlines()) + 2
        told = news(window, "What was edited cannot be loaded, and the model before stays: ")
        assert f"before stays: {model}:{line}: SyntaxError: '(' was never closed" in told and "\n" not in told
        window.click("#undo")
        window.until("document.querySelectorAll('#run .step').length === 2")
        assert "'(' was never closed" in window.text("#news")

        model.write_text(text)
        assert news(window, "loaded again") == "model.py was edited, and the model is loaded again."
        assert window.count('[data-step="expire()"]') == 1
        assert window.complaints() == []
