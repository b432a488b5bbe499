"""The defects of every layer, each in the whole system."""
