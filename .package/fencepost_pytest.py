"""The pytest plugin, under a name of its own: pytest compiles the package of a plugin's module with asserts of its own,
which takes seconds for all of fencepost."""

from fencepost.proofs.pytest_plugin import fencepost_agreement, pytest_addoption, pytest_collection_modifyitems

__all__ = ["fencepost_agreement", "pytest_addoption", "pytest_collection_modifyitems"]
