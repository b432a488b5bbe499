"""This package has reductions of the search. `symmetry` stores one of several states that differ in names alone, and
`partial_order` leaves out steps that could as well be taken later, according to `interference`."""
