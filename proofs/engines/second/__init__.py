"""A second opinion on proofs by induction: what Z3 has proved, as texts that any solver reads, and asked of cvc5.

`statements` writes the texts, `asking` has both solvers read them, `opinions` makes verdicts of cvc5's answers, and
`certificates` keeps the texts in a directory, with an index of what both solvers say.
"""
