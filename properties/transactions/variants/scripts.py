"""Where the reference implementation tells known bugs of transactions: called with a name."""

SCRIPT = "fencepost.reference_impl.transactions.scenarios.known:scenario"
