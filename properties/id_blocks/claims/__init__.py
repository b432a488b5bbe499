"""What producer id blocks (KIP-730) promise.

The promises, the lemmas that prove them, witnesses that they bite, and progress.
"""
