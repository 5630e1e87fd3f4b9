"""What a rubric catches: wrong implementations and right submissions, through the real checks."""

from grader.audit.judge import audit
from grader.audit.model import Audit, MutantRow, RightRow
from grader.audit.run import REFERENCE, run_audit

__all__ = ["REFERENCE", "Audit", "MutantRow", "RightRow", "audit", "run_audit"]
