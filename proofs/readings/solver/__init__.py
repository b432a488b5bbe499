"""The Z3 reading: terms as formulas without bounds, questions with a limit, small models."""
