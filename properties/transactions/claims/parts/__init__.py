"""What the parts of the transaction protocol promise, and why.

One file for each model in `model/transactions/parts`.
"""
