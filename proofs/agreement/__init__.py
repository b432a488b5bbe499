"""Agreement: any implementation of producer id blocks, driven by Hypothesis and held against the states the model may
be in."""

from .coverage import Coverage
from .engine import AgreementReport, ImplementationError, agree
from .failures import Disagreement, FalseConjunct
from .prefixes import calls_from

__all__ = ["AgreementReport", "Coverage", "Disagreement", "FalseConjunct", "ImplementationError", "agree", "calls_from"]
