"""This package gets a second opinion on proofs by induction, by writing what Z3 has proved as texts that any solver
reads, and having cvc5 check them.

`statements` writes the texts, `asking` has both solvers read them, `opinions` makes verdicts of cvc5's answers, and
`certificates` stores the texts in a directory, with an index of both solvers' answers.
"""
