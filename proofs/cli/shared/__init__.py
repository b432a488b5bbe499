"""What several commands have in common: arguments and options, how verdicts are printed and runs drawn, how far work
has come, and how a command ends.
"""
