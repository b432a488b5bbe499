"""This package checks agreement: Hypothesis drives any implementation of a protocol, and each answer is compared with
the states the model may be in.

Nothing in this package is specific to one protocol. A protocol whose implementations can be driven has an object for
that in ``properties/<protocol>/scenarios.py``. `fencepost.properties.conformance_spec` describes the parts of that
object, and `fencepost.properties.driving` defines calls."""

from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.engine import AgreementReport, ImplementationError, agree
from fencepost.proofs.testing.failures import Disagreement
from fencepost.proofs.testing.pasting import calls_from
from fencepost.properties.conformance_spec import FalseConjunct

__all__ = ["AgreementReport", "Coverage", "Disagreement", "FalseConjunct", "ImplementationError", "agree", "calls_from"]
