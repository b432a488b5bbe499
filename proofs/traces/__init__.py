"""This package checks conformance: whether every event of a history fits the model in the state that earlier events led
to."""

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
