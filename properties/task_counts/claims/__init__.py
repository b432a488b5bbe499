"""What task counts (KIP-618) promise.

The promises, the lemmas that prove them, witnesses that they bite, and progress.
"""
