"""Agreement: any implementation of a protocol, driven by Hypothesis and held against the states the model may be in.

Nothing here is of one protocol. What a protocol must bring, so that its implementations can be driven, is an object in
``properties/<protocol>/scenarios.py``; `fencepost.properties.conformance_spec` says part by part what is in it, and
`fencepost.properties.driving` what a call is."""

from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.engine import AgreementReport, ImplementationError, agree
from fencepost.proofs.testing.failures import Disagreement
from fencepost.proofs.testing.pasting import calls_from
from fencepost.properties.conformance_spec import FalseConjunct

__all__ = ["AgreementReport", "Coverage", "Disagreement", "FalseConjunct", "ImplementationError", "agree", "calls_from"]
