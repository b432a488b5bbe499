"""The order of test files: the longest first, so that no worker begins one when all the others are done.

Workers take whole files (see addopts in pyproject.toml); left alone, pytest-xdist begins with those that have most
tests, and the files that take minutes have few.
"""

from pathlib import Path

import pytest

LONGEST = (
    "test_readme.py",
    "test_readings_agree.py",
    "test_live_differential.py",
    "test_live_agreement.py",
    "test_cli_processes.py",
    "test_necessity_id_blocks.py",
    "test_live_clients.py",
    "test_live_id_blocks.py",
    "test_necessity_transactions.py",
    "test_necessity_task_counts.py",
    "test_txn_replay.py",
    "test_agreement_task_counts.py",
    "test_agreement_transactions.py",
    "test_task_counts_core.py",
    "test_guided.py",
    "test_txn_sql_twins.py",
    "test_live_coordinator.py",
)
"""As measured, longest first; a file that is not there any more, or not yet, does no harm."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files keep their tests together and in order."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(Path(item.path).name, len(LONGEST)))
