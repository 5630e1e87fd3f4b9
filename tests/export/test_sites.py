"""The gradebooks of Canvas, Moodle and Blackboard: who is in them, with what, and who is not."""

import csv
import io
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from grader.batch import mark_in_class
from grader.errors import InputError
from grader.export import FORMATS, Source, Wanted
from grader.report import read_report
from tests.export.classes import BLACKBOARD, CANVAS, CLASS, MOODLE, WORKSHEET, make_class, wanted_of
from tests.export.reports import to_json

Number = Annotated[Decimal, Field(ge=0)]
Grade = Annotated[str, Field(pattern=r"^([0-9]+(\.[0-9]+)?)?$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def validated(text, **fields):
    """The lines of a site's file; their columns are these, in this order."""
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert lines[0] == list(fields)
    names = {name: f"field_{number}" for number, name in enumerate(fields)}
    model = create_model(
        "Line",
        __base__=Strict,
        **{names[name]: (kind, Field(alias=name)) for name, kind in fields.items()},
    )
    for line in lines[1:]:
        assert len(line) == len(lines[0])
        model.model_validate(dict(zip(lines[0], line, strict=True)))
        assert not any(value.startswith(("=", "+", "@")) for value in line)
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def canvas_lines(text, column="Little (77)"):
    first, *students = validated(
        text,
        Student=str, ID=str, **{"SIS User ID": str, "SIS Login ID": str}, Section=str, **{column: Grade},
    )  # fmt: skip
    assert first["Student"].strip() == "Points Possible"
    return first, students


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return make_class(tmp_path_factory.mktemp("class"))


def write(form, out, text=None, **wanted):
    return FORMATS[form].write(Source(out), wanted_of(form, text, **wanted))


def test_canvas_gets_its_own_columns_and_points(out):
    written = write("canvas", out)
    first, students = canvas_lines(written.text)
    assert first["Little (77)"] == "30"
    assert [student["Little (77)"] for student in students] == ["30", "20", "0", "12", "20"]
    assert [student["ID"] for student in students] == ["12345", "12346", "12347", "12348", "12349"]


def test_grades_that_are_there_stay_where_there_is_no_submission(out):
    (four,) = (s for s in canvas_lines(write("canvas", out).text)[1] if s["SIS User ID"] == "s1004")
    assert four["Little (77)"] == "12"


def test_nobody_is_lost_without_a_word(out):
    for form in ("canvas", "moodle", "blackboard"):
        told = "\n".join(write(form, out).told)
        assert "without a submission: s1004" in told
        assert "nobody in the class list, in no line of the file: stranger.py" in told
        assert "a person must look at, so their points may change: s1005.py" in told


def test_the_sites_points_are_kept_or_asked_for(out):
    assert "of 30, as on the site; the rubric has 1.5" in "\n".join(write("canvas", out).told)
    first, students = canvas_lines(write("canvas", out, max_score=Decimal(1)).text)
    assert (first["Little (77)"], students[1]["Little (77)"]) == ("1", "0.67")
    plain = "Student,ID,Section\nOne,s1001,A\nTwo,s1002,A\n"
    written = write("canvas", out, plain)
    first, students = canvas_lines(written.text, "little")
    assert (first["little"], students[0]["little"]) == ("1.5", "1.5")
    assert any("makes a new assignment" in sentence for sentence in written.told)


def test_a_class_list_of_any_kind_will_do(out):
    plain = "name,login,email\nOne,s1001,one@example.org\nTwo,s1002,two@example.org\n"
    _, students = canvas_lines(write("canvas", out, plain, column="Little (77)").text)
    assert [student["SIS Login ID"] for student in students] == ["s1001", "s1002"]
    lines = validated(
        write("moodle", out, plain).text,
        **{"Email address": str, "Grade": Grade, "Feedback comments": str},
    )
    assert [line["Email address"] for line in lines] == ["one@example.org", "two@example.org"]


@pytest.mark.parametrize(
    ("headers", "wanted", "column"),
    [
        ("Little (77),Little B (78)", "Little (77)", "Little (77)"),
        ("Little (77),Other (78)", "other", "Other (78)"),
        ("Little (77),Other (78)", None, "Little (77)"),
        ("The LITTLE one (5),Other (78)", None, "The LITTLE one (5)"),
    ],
)
def test_the_column_is_found_or_named(out, headers, wanted, column):
    text = f"Student,ID,SIS User ID,SIS Login ID,Section,{headers}\nOne,1,s1001,sone,A,,\n"
    _, students = canvas_lines(write("canvas", out, text, column=wanted).text, column)
    assert students[0][column] == "1.5"


def test_a_column_that_could_be_two_is_asked_for(out):
    text = "Student,ID,Section,Little (77),Little (78)\nOne,s1001,A,,\n"
    with pytest.raises(InputError, match="name one with --column"):
        write("canvas", out, text)
    with pytest.raises(InputError, match="has no column 'Little \\(9\\)'"):
        write("canvas", out, text, column="Little (9)")


def test_canvas_needs_an_id_of_its_own(out):
    with pytest.raises(InputError, match="--roster"):
        write("canvas", out, "email\ns1001@example.org\n")


def test_moodle_gets_grade_and_feedback_by_what_most_have(out):
    names = {"ID number": str, "Assignment: Little (Real)": Number, "Feedback comments": str}
    lines = validated(write("moodle", out).text, **names)
    assert [line["ID number"] for line in lines] == ["s1001", "s1002", "s1003", "s1005"]
    assert lines[1]["Feedback comments"] == "1 of 1.5 points. one 1. scale-missing"
    addresses = MOODLE.replace(",s1005,,", ",s1005,five@example.org,")
    names = {"Email address": str, "Assignment: Little (Real)": Number, "Feedback comments": str}
    assert len(validated(write("moodle", out, addresses).text, **names)) == 4


def test_moodle_needs_an_address_or_a_number(out):
    with pytest.raises(InputError, match="neither Email address nor ID number"):
        write("moodle", out, "login\ns1001\n")


def test_moodles_worksheet_comes_back_as_it_was_but_for_the_grades(out):
    written = write("moodle", out, WORKSHEET)
    before = list(csv.DictReader(io.StringIO(WORKSHEET)))
    after = list(csv.DictReader(io.StringIO(written.text, newline="")))
    assert [line["Grade"] for line in after] == ["100", "66.67", ""]
    assert after[1]["Feedback comments"] == "1 of 1.5 points. one 1. scale-missing"
    for old, new in zip(before, after, strict=True):
        changed = {name for name in old if old[name] != new[name]}
        assert changed <= {"Grade", "Feedback comments"}
    told = "\n".join(written.told)
    assert "s1003" in told
    assert "of 100, as on the site" in told


def test_blackboard_gets_every_cell_in_quotes(out):
    text = write("blackboard", out).text
    column = "Little [Total Pts: 15 Score] |2345"
    lines = validated(text, Username=str, **{column: Grade})
    assert [line[column] for line in lines] == ["15", "10", "0", "11", "10"]
    assert lines[-1]["Username"] == "'=sfive"
    assert text.count('"') == 2 * 2 * 6


def test_blackboard_needs_the_number_of_its_column(out):
    with pytest.raises(InputError, match=r"\[Total Pts: 1.5 Score\] \|NUMBER"):
        write("blackboard", out, "Username\ns1001\n")
    column = "Other [Total Pts: 3 Score] |9"
    text = write("blackboard", out, "Username\ns1001\n", column=column).text
    assert text == f'"Username","{column}"\r\n"s1001","3"\r\n'


def test_two_submissions_of_one_student_are_nobodys_grade(tmp_path):
    out = make_class(tmp_path, {"s1001": CLASS["s1001"], "sone": CLASS["s1002"]})
    written = write("canvas", out)
    _, students = canvas_lines(written.text)
    assert students[0]["Little (77)"] == "5" or students[0]["Little (77)"] == ""
    assert any("s1001 (s1001.py, sone.py)" in sentence for sentence in written.told)


def test_a_fault_of_the_grader_is_nobodys_zero(tmp_path):
    out = make_class(tmp_path, {"s1001": CLASS["s1001"]})
    path = out / "reports" / "s1001.py.json"
    report = read_report(path.read_text())
    broken = tmp_path / "s1001.json"
    broken.write_text(to_json(report.model_copy(update={"status": "error"})))
    written = FORMATS["canvas"].write(Source(broken), wanted_of("canvas"))
    _, students = canvas_lines(written.text)
    assert students[0]["Little (77)"] == ""
    assert any("itself failed, so no points are entered" in sentence for sentence in written.told)


def test_marks_of_a_person_are_in_the_gradebook(tmp_path):
    out = make_class(tmp_path)
    mark_in_class(out, "s1005.py", "doubles_zero", Decimal("0.5"), "")
    _, students = canvas_lines(write("canvas", out).text)
    assert students[-1]["Little (77)"] == "30"


def test_without_a_class_list_the_submissions_own_ids_are_taken(tmp_path):
    from grader.batch import find_submissions, grade_class
    from tests.batch.little import Canned, make_little

    little = make_little(tmp_path / "assignments" / "little")
    folder = tmp_path / "Little - All"
    folder.mkdir()
    for number in (12345, 12346):
        (folder / f"person{number}_{number}_99{number}_m.py").write_text(CLASS["s1001"])
    found = find_submissions([folder])
    assert [each.student for each in found] == ["12345", "12346"]
    grade_class(found, little, tmp_path / "out", Canned(little))
    written = FORMATS["canvas"].write(Source(tmp_path / "out"), Wanted(column="Little (77)"))
    _, students = canvas_lines(written.text)
    assert [(s["ID"], s["Little (77)"]) for s in students] == [("12345", "1.5"), ("12346", "1.5")]
    with pytest.raises(InputError, match="--roster"):
        FORMATS["canvas"].write(Source(make_class(tmp_path / "c")), Wanted())


@pytest.mark.parametrize("text", [CANVAS, BLACKBOARD, MOODLE, WORKSHEET])
def test_hostile_names_and_ids_stay_text(tmp_path, text):
    out = make_class(tmp_path, {"s1001": "# points: 1\n# misconception: =cmd()"})
    hostile = text.replace("One", '=HYPERLINK(""x"")').replace("sone", "@sone")
    if text is BLACKBOARD:
        hostile = text.replace('"sone"', '"@sone"')
    form = {CANVAS: "canvas", BLACKBOARD: "blackboard"}.get(text, "moodle")
    written = write(form, out, hostile)
    for line in csv.reader(io.StringIO(written.text, newline="")):
        assert not any(value.startswith(("=", "+", "@")) for value in line)
