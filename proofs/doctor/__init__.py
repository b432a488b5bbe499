"""This package is `fencepost doctor`: what is wrong with the transactions of a cluster, how it came, and what to do.

`source` reads a cluster, `checks` notices what contradicts a rule, and `diagnosis` makes findings of it; `futures`
loads an open transaction, as an operator sees it, into the model; `report` has the answers in words."""
