"""This package gets a second opinion on proofs by induction, by writing what Z3 has proved as texts that any solver
reads, and having cvc5 check them, or print proofs that Ethos checks.

`statements` writes the texts, `asking` has both solvers read them, `opinions` makes verdicts of cvc5's answers,
`certificates` stores the texts and cvc5's proofs in a directory, `ethos` runs the checker of proofs, and `auditing` has
it check a directory, whose statements it compares with the model.
"""
