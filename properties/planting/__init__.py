"""Histories with violations seeded in them, by which checks of histories show that they have teeth.

Read `bends` (how a history is changed at one place), then `beds` (which histories, with which violations where).
"""
