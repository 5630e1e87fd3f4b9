"""Shuts a worker in: one file a mechanism, entered in the forked child before any student code.

So far there is one mechanism, resource limits. `enter` is the seam where the others join, and its
answer is what the report's `environment.isolation` says.
"""

from grader.sandbox.limits import Limits, enter_limits

__all__ = ["Limits", "enter", "enter_limits"]


def enter(limits: Limits) -> str:
    """Shut this process in as far as the machine allows; returns the isolation that holds.

    Returns:
        "limits", or "none" where the system has no resource limits.
    """
    return "limits" if enter_limits(limits) else "none"
