"""What the source shows without running it."""

from grader.policy.disallowed import Use, disallowed_uses
from grader.policy.hiding import Sign, signs_of_hiding

__all__ = ["Sign", "Use", "disallowed_uses", "signs_of_hiding"]
