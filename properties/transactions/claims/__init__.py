"""This package states what must be true of transactions and why: `core` first, then one file for each thing that `core`
leaves out."""
