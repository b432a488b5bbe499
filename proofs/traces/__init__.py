"""Conformance: does every event of a history fit the model, in the state that the events before it have led to?"""

from fencepost.proofs.traces.kernel import ConformanceKernel, conformance_kernel, conformance_of

__all__ = ["ConformanceKernel", "conformance_kernel", "conformance_of"]
