"""Conformance: does every event of a history fit the model, in the state that the events before it have led to?"""

from fencepost.proofs.traces.kernel import ConformanceKernel, conformance_kernel, conformance_of
from fencepost.proofs.traces.predicted import Predicted, predicted_of, replay_set
from fencepost.proofs.traces.recordings import RecordingKernel

__all__ = [
    "ConformanceKernel",
    "Predicted",
    "RecordingKernel",
    "conformance_kernel",
    "conformance_of",
    "predicted_of",
    "replay_set",
]
