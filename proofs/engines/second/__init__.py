"""This package gets a second opinion on proofs by induction, by writing what Z3 has proved as texts that any solver
reads, and having cvc5 check them, or print proofs that Ethos checks.

`statements` writes the texts, `agreeing` has Z3 compare them with what it proved, `asking` has both solvers read them,
`opinions` makes verdicts of cvc5's answers, `certificates` stores the texts and cvc5's proofs in a directory, `index`
has the form of its index, `ethos` runs the checker of proofs, and `auditing` has it check a directory, whose statements
it compares with the model. `statements`, `index`, `ethos` and `auditing` import no solver.
"""
