"""This package reads terms as SMT-LIB 2 text without any solver's library.

It shares the encoding with the Z3 reading (`readings.solver`), and no code: `formulas` builds and prints formulas, and
`reading` makes them of a protocol's terms, states and steps. Each checks the other, as a certificate is of this text,
and `prove` has Z3 find that the text asserts what Z3 was asked.
"""
