"""The outputs of the GitHub action: lines of NAME=VALUE for the file that a step writes them to."""

from grader.export.base import Format, Source, Wanted, Written
from grader.export.classroom import classroom_result, total_of
from grader.report.terminal import points


def write(source: Source, wanted: Wanted) -> Written:
    """`result` (the classroom's line), `score`, `max-score` and `status`."""
    report = source.report()
    result = classroom_result(report, wanted)
    values = {
        "result": result.to_line(),
        "score": points(total_of(result)),
        "max-score": points(wanted.full_marks(report)),
        "status": result.status,
    }
    return Written("".join(f"{name}={value}\n" for name, value in values.items()))


FORMAT = Format(
    "outputs",
    "the GitHub action's outputs, NAME=VALUE a line",
    write,
    ("max_score", "test_name", "base"),
)
