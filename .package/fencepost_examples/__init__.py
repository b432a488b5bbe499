"""Protocols of one's own, as a user writes them: `lock` is the worked example of README."""
