"""The main job within the wider bounds: every verdict is as expected there too.  Alone, since it takes all cores."""

from pathlib import Path

import pytest
from command_line import process, read_json


@pytest.mark.nightly
@pytest.mark.timeout(3000)
def test_every_verdict_of_the_wider_profile(tmp_path: Path) -> None:
    """Ten times as many simulated histories, obligations of every reading, a third worker: some 7 minutes."""
    ran = process("verify", "--profile", "ci", "--json", tmp_path / "v.json", XDG_CACHE_HOME=str(tmp_path / "cache"))
    results = read_json(tmp_path / "v.json")["results"]
    wrong = [
        (r["protocol"], r["variant"], r["property"], r["engine"]) for r in results if r["verdict"] != r["expected"]
    ]
    assert (ran.code, wrong) == (0, []), ran.err
    assert any("symmetry" in r["evidence"] for r in results)
