"""This package has what several commands share: arguments and options, the printing of verdicts and runs, the progress
of work, and the end of a command."""
