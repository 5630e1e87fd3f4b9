"""What a check holds: proxies for the definitions of a submission, which run in a worker."""

from grader.student.proxies import CallResult, Definition, Event, Layer, Parameter, Student
from grader.student.session import Session

__all__ = ["CallResult", "Definition", "Event", "Layer", "Parameter", "Session", "Student"]
