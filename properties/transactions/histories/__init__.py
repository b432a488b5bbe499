"""What must hold of the events of transactions: `view`, then the properties; `late` is what a late copy
explains.
"""
