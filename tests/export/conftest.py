import pytest

from grader.export import FORMATS, Source, Wanted
from tests.export.reports import ENVIRONMENT, to_json


@pytest.fixture
def exported(tmp_path):
    """Writes a report in a format, as `grader export` does."""

    def export(form, report, **wanted):
        path = tmp_path / "report.json"
        path.write_text(to_json(report), encoding="ascii")
        return FORMATS[form].write(Source(path), Wanted(environment=ENVIRONMENT, **wanted))

    return export
