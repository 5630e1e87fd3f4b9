"""What the source shows without running it."""

from grader.policy.disallowed import Use, disallowed_uses

__all__ = ["Use", "disallowed_uses"]
