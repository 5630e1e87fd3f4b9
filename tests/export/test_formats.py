"""Every format: its golden files, its validator, and texts that try to be more than text."""

import base64
import csv
import io
import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from typing import Annotated, Literal
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field

from grader.errors import InputError
from grader.export import FORMATS, Source, Wanted
from grader.export.annotations import MOST
from grader.export.classroom import MOST_BYTES, ClassroomResult
from grader.export.classroom50 import Classroom50Result
from grader.export.gradescope import GradescopeResults
from grader.export.scores import added
from grader.export.table import HEADER
from grader.report.terminal import COMMAND
from tests.export.classes import CLASS_FORMATS, make_class
from tests.export.golden_files import golden_texts
from tests.export.reports import (
    ENVIRONMENT,
    EVERY,
    GOLDEN,
    HOSTILE,
    THREE,
    hostile,
    make,
    partly,
    row,
)

REPORT_FORMATS = sorted(FORMATS.keys() - CLASS_FORMATS)
every_report = pytest.mark.parametrize("make_one", EVERY.values(), ids=EVERY.keys())


def test_every_format_gives_its_golden_files(tmp_path):
    given = golden_texts(tmp_path)
    assert {path.name for path in GOLDEN.iterdir()} == given.keys()
    for name, text in given.items():
        assert text == (GOLDEN / name).read_bytes().decode(), name


# What other programs read, as they read it: none of these validators is the writer's own.


class JUnitCase(BaseModel):
    model_config = ConfigDict(extra="forbid")

    classname: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    time: Decimal
    file: str | None = None
    line: Annotated[int, Field(ge=1)] | None = None


class JUnitSuite(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)]
    tests: int
    failures: int
    errors: int
    skipped: int
    time: Decimal


class CsvRow(BaseModel):
    model_config = ConfigDict(extra="forbid")

    submission: str
    student: str
    assignment: str
    milestone: str
    check: str
    title: str
    status: Literal[
        "passed", "failed", "raised", "timed_out", "crashed", "refused", "blocked", "review"
    ]
    score: Decimal
    max_score: Decimal
    misconception: str
    message: str
    expected: str
    got: str
    hint: str
    lesson: str
    file: str
    line: Annotated[str, Field(pattern="^[0-9]*$")]
    cell: Annotated[str, Field(pattern="^[0-9]*$")]


def read_junit(text):
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    cases = []
    for suite in root:
        about = JUnitSuite.model_validate(suite.attrib)
        inside = suite.findall("testcase")
        assert about.tests == len(inside)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert getattr(about, name) == sum(case.find(tag) is not None for case in inside)
        for name in totals:
            totals[name] += getattr(about, name)
        for case in inside:
            assert len(case) <= 1
            cases.append((JUnitCase.model_validate(case.attrib), case))
    assert totals == {name: int(root.get(name)) for name in totals}
    return cases


def read_csv(text):
    return [CsvRow.model_validate(each) for each in csv.DictReader(io.StringIO(text, newline=""))]


def read_classroom(text):
    """As the reporter does: base64, JSON, and scores that are added up as doubles."""
    (line,) = text.splitlines()
    data = base64.b64decode(line, validate=True)
    return json.loads(data), data


class Shown(HTMLParser):
    """The tags of a page, and the targets of its links."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]


@every_report
def test_a_classroom_reads_numbers_that_add_up(exported, make_one):
    report = make_one()
    written = exported("classroom", report).text
    result, data = read_classroom(written)
    ClassroomResult.model_validate_json(data)
    assert len(data) <= MOST_BYTES
    assert result["version"] == 1
    assert len(result["tests"]) >= 1
    assert all(type(test["score"]) in (int, float) for test in result["tests"])
    assert added(test["score"] for test in result["tests"]) == float(report.score)
    assert result["max_score"] == float(report.max_score)
    for test in result["tests"]:
        assert test["test_code"] == ""
        assert test["name"].strip()
        assert not re.search(r"[\r\n]|::|##\[", test["name"].replace("\\##[", ""))
        assert "\n" not in test["message"]
        assert type(test["line_no"]) is int
        assert test["status"] in ("pass", "fail", "error")


@pytest.mark.parametrize("most", ["100", "1", "7", "0.3", "64", "33.3", "33.333", "0.335", "0.01"])
@pytest.mark.parametrize(
    "points", [["0.1"] * 41, ["0.15", "0.35", "0.7"] * 9, ["1"], ["0.04"] * 120]
)
def test_full_marks_are_full_marks_on_every_scale(exported, points, most):
    report = make({"m": [row(f"c{n}", points=each) for n, each in enumerate(points)]})
    result, _ = read_classroom(exported("classroom", report, max_score=Decimal(most)).text)
    assert result["max_score"] == float(most)
    assert added(test["score"] for test in result["tests"]) == float(most)
    assert min(test["score"] for test in result["tests"]) >= 0
    assert result["status"] == "pass"


@pytest.mark.parametrize("most", ["100", "10", "7"])
def test_a_part_of_the_points_is_that_part_on_every_scale(exported, most):
    report = partly()
    result, _ = read_classroom(exported("classroom", report, max_score=Decimal(most)).text)
    total = added(test["score"] for test in result["tests"])
    assert total == pytest.approx(float(report.score / report.max_score * Decimal(most)), abs=0.005)
    assert total == round(total, 2)
    assert [test["score"] for test in result["tests"]][3:] == [0, 0, 0]
    assert result["status"] == "fail"


def test_what_a_person_has_yet_to_mark_is_no_failure(exported):
    result, _ = read_classroom(exported("classroom", THREE["right"]()).text)
    assert result["status"] == "pass"
    assert result["tests"][-1]["status"] == "fail"


@pytest.mark.parametrize("which", ["refused", "failed"])
def test_what_is_no_grade_is_an_error_with_its_reason(exported, which):
    result, _ = read_classroom(exported("classroom", EVERY[which]()).text)
    assert result["status"] == "error"
    assert [test["status"] for test in result["tests"]] == ["error"]
    assert result["message"] == result["tests"][0]["message"]
    assert "unclosed bracket" in result["message"] or "itself failed" in result["message"]
    assert [test["score"] for test in result["tests"]] == [0]


def test_lines_of_cells_are_no_lines_of_files(exported):
    result, _ = read_classroom(exported("classroom", partly()).text)
    places = [(test["filename"], test["line_no"]) for test in result["tests"]]
    assert places == [("", 0), ("", 0), ("student-7.py", 34), ("work.ipynb", 0), ("", 0), ("", 0)]


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "student-7.py"), (".", "student-7.py"), ("./", "student-7.py"),
        ("src", "src/student-7.py"), ("./src/", "src/student-7.py"),
        ("student-7.py", "student-7.py"), ("src/student-7.py", "src/student-7.py"),
    ],
)  # fmt: skip
def test_paths_are_those_of_the_repository(exported, base, path):
    result, _ = read_classroom(exported("classroom", partly(), base=base).text)
    assert result["tests"][2]["filename"] == path


def test_tests_have_the_name_that_was_asked_for(exported):
    result, _ = read_classroom(exported("classroom", partly(), test_name="Milestone 1").text)
    assert all(test["name"].startswith("Milestone 1: What ") for test in result["tests"])


@every_report
def test_classroom_50_reads_whole_numbers(exported, make_one):
    report = make_one()
    written = exported("classroom50", report)
    result = json.loads(written.text)
    Classroom50Result.model_validate_json(written.text)
    assert result["schema"] == "classroom50/result/v1"
    assert result["owner"] == "student-7"
    assert result["submission"].startswith("submit/")
    assert result["datetime"] == "2026-11-30T10:20:30Z"
    for score in (result, *result["tests"]):
        assert type(score["score"]) is int
        assert type(score["max-score"]) is int
        assert 0 <= score["score"] <= score["max-score"]
    assert result["score"] == sum(test["score"] for test in result["tests"])
    if report.status == "error":
        assert (result["score"], result["max-score"], result["tests"]) == (0, 0, [])
        assert "itself failed" in result["message"]
    else:
        assert Decimal(result["score"]) / result["scale"] == report.score
        assert Decimal(result["max-score"]) / result["scale"] == report.max_score
        assert len(result["tests"]) == len(report.checks())
    assert all(isinstance(test["passed"], bool) for test in result["tests"])
    if result["scale"] != 1:
        assert any(str(result["scale"]) in sentence for sentence in written.told)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("CLASSROOM", None, "CLASSROOM"), ("USERNAME", "", "OWNER or USERNAME"),
        ("SUBMISSION_TAG", "v1", "submit/"), ("ASSIGNMENT_TYPE", "pair", "individual"),
        ("COMMIT_URL", None, "COMMIT_URL"),
    ],
)  # fmt: skip
def test_classroom_50_says_which_variable_is_missing(tmp_path, name, value, what):
    path = tmp_path / "report.json"
    path.write_text(partly().to_json())
    environment = {key: text for key, text in ENVIRONMENT.items() if key != name}
    if value is not None:
        environment[name] = value
    with pytest.raises(InputError, match=what):
        FORMATS["classroom50"].write(Source(path), Wanted(environment=environment))


def test_classroom_50_takes_the_owner_and_the_review_that_it_is_given(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(partly().to_json())
    more = {"OWNER": "group-2", "ASSIGNMENT_TYPE": "team", "REVIEW_URL": "https://example.org/c"}
    written = FORMATS["classroom50"].write(Source(path), Wanted(environment=ENVIRONMENT | more))
    result = json.loads(written.text)
    assert (result["owner"], result["assignment_type"]) == ("group-2", "team")
    assert result["review"] == "https://example.org/c"


@every_report
def test_gradescope_reads_tests_with_visibility(exported, make_one):
    report = make_one()
    text = exported("gradescope", report).text
    result = json.loads(text)
    GradescopeResults.model_validate_json(text)
    assert "leaderboard" not in result
    assert result["score"] == float(report.score)
    scores = [Decimal(str(test["score"])) for test in result["tests"]]
    assert scores == [check.score for check in report.checks()]
    assert sum(scores) == Decimal(str(result["score"]))
    assert result["execution_time"] == 2
    assert result["stdout_visibility"] == "hidden"
    checks = report.checks()
    for test, check in zip(result["tests"], checks, strict=True):
        assert test["visibility"] == ("after_published" if check.hidden else "visible")
        assert test["status"] == ("passed" if check.status == "passed" else "failed")
        assert test["max_score"] == float(check.max_score)
        assert test["output_format"] == "text"
    numbers = [test["number"] for test in result["tests"]]
    assert len(set(numbers)) == len(numbers)


@every_report
def test_junit_is_xml_whose_counts_are_right(exported, make_one):
    report = make_one()
    cases = read_junit(exported("junit", report).text)
    names = [case.name.partition(":")[0] for case, _ in cases]
    assert names == [check.id for check in report.checks()]
    for (case, element), check in zip(cases, report.checks(), strict=True):
        assert (len(element) == 0) == (check.status == "passed")
        if check.location is not None and check.location.cell is None:
            assert case.line == check.location.line


@every_report
def test_csv_has_a_line_for_each_row(exported, make_one):
    report = make_one()
    text = exported("csv", report).text
    assert text.startswith(",".join(HEADER) + "\r\n")
    rows = read_csv(text)
    assert [each.check for each in rows] == [check.id for check in report.checks()]
    assert sum(each.score for each in rows) == report.score


@every_report
def test_markdown_shows_text_as_text(exported, make_one):
    report = make_one()
    text = exported("markdown", report).text
    assert len(text.encode()) < 2**20
    shown = Shown()
    shown.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert shown.tags <= {
        "h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "p", "strong", "code", "pre", "ul",
        "li", "em",
    }  # fmt: skip
    assert shown.links == []
    if report.status == "graded":
        for milestone in report.milestones:
            assert milestone.title in text


@every_report
def test_annotations_are_at_most_ten_commands(exported, make_one):
    text = exported("annotations", make_one()).text
    lines = text.splitlines()
    assert len(lines) <= MOST
    for line in lines:
        assert re.fullmatch(r"::error( [a-z]+=[^:,\n]*(,[a-z]+=[^:,\n]*)*)?::.+", line), line
        assert all(character.isprintable() for character in line)


@every_report
def test_the_actions_outputs_are_a_line_each(exported, make_one):
    report = make_one()
    text = exported("outputs", report).text
    values = dict(line.split("=", 1) for line in text.splitlines())
    assert values.keys() == {"result", "score", "max-score", "status"}
    assert Decimal(values["score"]) == (0 if report.status != "graded" else report.score)
    assert values["result"] == exported("classroom", report).text.strip()


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_no_text_is_obeyed(exported, form):
    text = exported(form, hostile()).text
    if form == "classroom":
        text = base64.b64decode(text).decode()
    assert not {"\x1b", "\x07", "\x00", "\u202e", "\ufffe"} & set(text)
    text.encode()  # no half of a surrogate pair
    if form not in ("annotations", "csv", "junit"):
        assert not any(COMMAND.match(line.lstrip()) for line in text.splitlines())
    if form == "csv":
        for line in csv.reader(io.StringIO(text, newline="")):
            assert not any(value.startswith(("=", "+", "-", "@")) for value in line)


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_a_formula_as_a_name_stays_text(exported, form):
    report = make(
        {"m": [row("c", "failed", title="=cmd()", message="@sum(1)", got="-1+1")]}, "+a.py"
    )
    text = exported(form, report).text
    if form == "csv":
        (each,) = read_csv(text)
        assert (each.submission, each.title, each.message, each.got) == (
            "'+a.py",
            "'=cmd()",
            "'@sum(1)",
            "'-1+1",
        )
    elif form == "junit":
        ((_, element),) = read_junit(text)
        assert "=cmd()" in element[0].get("message")


def test_a_class_goes_where_classes_can(tmp_path):
    out = make_class(tmp_path)
    assert len(read_csv(FORMATS["csv"].write(Source(out), Wanted()).text)) == 5 * 2
    assert len(read_junit(FORMATS["junit"].write(Source(out), Wanted()).text)) == 5 * 2
    page = FORMATS["markdown"].write(Source(out), Wanted()).text
    assert page.count("\n| ") == 2 + 5
    for form in ("classroom", "classroom50", "gradescope", "annotations", "outputs"):
        with pytest.raises(InputError, match="name one of"):
            FORMATS[form].write(Source(out), Wanted(environment=ENVIRONMENT))


def test_marks_of_a_person_count(tmp_path):
    from grader.batch import mark_in_class

    out = make_class(tmp_path)
    mark_in_class(out, "s1005.py", "doubles_zero", Decimal("0.5"), "Seen.")
    rows = read_csv(FORMATS["csv"].write(Source(out), Wanted()).text)
    assert sum(each.score for each in rows if each.submission == "s1005.py") == Decimal("1.5")


def test_the_command_line_names_every_format():
    from grader.cli.app import FORMATS_HELP

    assert re.split(r", | or ", FORMATS_HELP.rstrip(".")) == list(FORMATS)


@pytest.mark.parametrize("points", [["0.15", "0.3"], ["7.3", "8.1"], ["0.1", "0.5", "1.2"]])
def test_points_add_up_where_adjusting_the_last_is_not_enough(exported, points):
    report = make({"m": [row(f"c{n}", points=each) for n, each in enumerate(points)]})
    result, _ = read_classroom(exported("classroom", report).text)
    assert added(test["score"] for test in result["tests"]) == float(report.score)
    scores = json.loads(exported("gradescope", report).text)["tests"]
    assert [test["score"] for test in scores] == [float(each) for each in points]


@pytest.mark.parametrize(
    ("rows", "letters"), [(64, 5000), (480, 160), (1000, 8), (1000, 40), (3000, 160)]
)
def test_a_classrooms_json_is_small_whatever_the_report(exported, rows, letters):
    many = [
        row(f"c{n}", "failed" if n % 3 else "passed", "0.01", title="t" * letters)
        for n in range(rows)
    ]
    report = make({"m": many[: rows // 2], "n": many[rows // 2 :]})
    result, data = read_classroom(exported("classroom", report).text)
    assert len(data) <= MOST_BYTES
    assert added(test["score"] for test in result["tests"]) == float(report.score)


def test_a_report_without_rows_has_a_test_that_says_so(exported):
    result, _ = read_classroom(exported("classroom", make({})).text)
    assert [test["status"] for test in result["tests"]] == ["error"]


def test_questions_have_their_ids_and_what_waits_says_so(exported):
    names = [
        test["name"]
        for test in read_classroom(exported("classroom", THREE["right"]()).text)[0]["tests"]
    ]
    assert names[-2:] == [
        "What scale is about. (scale)",
        "What why is about. (why) – waits for a person's mark",
    ]
    results = json.loads(exported("gradescope", THREE["right"]()).text)
    assert results["tests"][-1]["name"] == names[-1]
    assert "no points yet" in results["output"]


def test_gradescope_says_where_to_begin_and_which_row_is_meant(exported):
    results = json.loads(exported("gradescope", partly()).text)
    assert results["output"].splitlines()[:2] == [
        "0.4 of 1.6 points",
        "Begin with: What mask is about. A hidden key has a weight. True = may attend.",
    ]
    assert "builds on `value` (2.2)" in results["tests"][4]["output"]


def test_what_could_not_be_read_is_not_called_forbidden(exported):
    results = json.loads(exported("gradescope", EVERY["refused"]()).text)
    assert "not allowed" not in json.dumps(results)
    assert results["tests"][0]["output"].startswith("not graded")


def test_the_older_form_of_commands_is_broken_anywhere(exported):
    title = "x##[set-output name=result]forged"
    report = make({"m": [row("c", "failed", title=title, message=title, got=title)]})
    for form in REPORT_FORMATS:
        text = exported(form, report).text
        assert "##[" not in (base64.b64decode(text).decode() if form == "classroom" else text)


def test_nobody_is_called_by_a_page(exported):
    report = make(
        {
            "m": [
                row(
                    "c",
                    "failed",
                    title="@everybody",
                    message="ask @student at www.x.org http://x.org",
                )
            ]
        }
    )
    text = exported("markdown", report).text
    assert not re.search(r"@\w|[a-z]://|www\.", text)


def test_hostile_text_is_hostile():
    for sign in ("\n", "::error", "</failure>", "=cmd()", "\x1b", "\ud800"):
        assert sign in HOSTILE
