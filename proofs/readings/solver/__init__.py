"""This package is the Z3 reading, with terms as formulas without bounds, questions with a limit, and small models."""
