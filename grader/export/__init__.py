"""Where reports go: a classroom, Gradescope, the gradebooks of schools, and files for the rest.

Each format is a file with a `FORMAT`; the interface is in `base`.
"""

from grader.export import (
    annotations,
    blackboard,
    canvas,
    classroom,
    classroom50,
    gradescope,
    junit,
    markdown,
    moodle,
    outputs,
    table,
)
from grader.export.base import Format, Source, Wanted, Written

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        classroom,
        classroom50,
        gradescope,
        canvas,
        moodle,
        blackboard,
        junit,
        table,
        markdown,
        outputs,
        annotations,
    )
}

__all__ = ["FORMATS", "Format", "Source", "Wanted", "Written"]
