"""The gradebooks of Canvas, Moodle and Blackboard: who is in them, with what, and who is not."""

import csv
import io
from dataclasses import replace
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

FEEDBACK = "1 of 1.5 points. One 1/1.5. Begin with: Title of doubles_zero. It is wrong."
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
    assert "Points are of 30; the rubric has 1.5." in write("canvas", out).told
    written = write("canvas", out, max_score=Decimal(1))
    assert "Points are of 1, but the site's column is of 30." in written.told
    first, students = canvas_lines(written.text)
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
        write("canvas", out, "number,name code\ns1001,One\n")
    with pytest.raises(InputError, match="None of the 5 submissions is of anybody"):
        write("canvas", out, "email\ns1001@example.org\n")


def test_moodle_gets_grade_and_feedback_by_what_most_have(out):
    names = {"ID number": str, "Assignment: Little (Real)": Number, "Feedback comments": str}
    lines = validated(write("moodle", out).text, **names)
    assert [line["ID number"] for line in lines] == ["s1001", "s1002", "s1003", "s1005"]
    assert lines[1]["Feedback comments"] == FEEDBACK
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
    assert after[1]["Feedback comments"] == FEEDBACK
    for old, new in zip(before, after, strict=True):
        changed = {name for name in old if old[name] != new[name]}
        assert changed <= {"Grade", "Feedback comments"}
    told = "\n".join(written.told)
    assert "s1003" in told
    assert "Points are of 100; the rubric has 1.5." in told


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


def test_the_best_of_two_submissions_counts_and_is_told(tmp_path):
    out = make_class(tmp_path, {"sone": CLASS["s1002"], "s1001": CLASS["s1001"]})
    written = write("canvas", out)
    _, students = canvas_lines(written.text)
    assert students[0]["Little (77)"] == "30"
    assert any("s1001 (s1001.py 1.5 counts, sone.py 1)" in sentence for sentence in written.told)


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


@pytest.mark.parametrize("form", ["canvas", "moodle", "blackboard"])
def test_a_class_list_is_needed(out, form):
    with pytest.raises(InputError, match="--roster"):
        FORMATS[form].write(Source(out), Wanted())


def test_everybody_of_a_group_is_found_or_told(tmp_path):
    from grader.batch import find_submissions, grade_class
    from tests.batch.little import Canned, make_little

    little = make_little(tmp_path / "assignments" / "little")
    (tmp_path / "m.py").write_text(CLASS["s1001"])
    (found,) = find_submissions([tmp_path / "m.py"])
    group = replace(found, student="s1001 s1002 nobody99")
    grade_class([group], little, tmp_path / "out", Canned(little))
    written = write("canvas", tmp_path / "out")
    _, students = canvas_lines(written.text)
    assert [student["Little (77)"] for student in students[:3]] == ["30", "30", "7"]
    assert any("nobody99 (m.py)" in sentence for sentence in written.told)


@pytest.mark.parametrize("number", ["1,000", "1,000.00", "1000", "1000,0"])
def test_points_of_the_site_are_read_in_every_notation(out, number):
    full = [write("canvas", out, CANVAS.replace(",5,30,", f',5,"{number}",')).text]
    full.append(write("blackboard", out, BLACKBOARD.replace("Pts: 15", f"Pts: {number}")).text)
    full.append(write("moodle", out, WORKSHEET.replace("100.00", f'"{number}"')).text)
    for text in full:
        assert "1000" in [cell for line in csv.reader(io.StringIO(text)) for cell in line]


def test_points_that_nobody_can_have_are_none(out):
    written = write("canvas", out, CANVAS.replace(",5,30,", ",5,1e400,"))
    assert canvas_lines(written.text)[0]["Little (77)"] == "1.5"


@pytest.mark.parametrize(
    ("headers", "wanted", "word"),
    [
        ("Lab 10 (77)", "Lab 1", None), ("Warm-up (70)", "", "empty"), ("Little (77)", "ID", "no column of grades"),
        ("Little (77)", "Section", "no column of grades"), ("Week 5 lab (7),Other (8)", None, "Week 5 lab .7., Other"),
    ],
)  # fmt: skip
def test_no_other_column_is_taken_for_the_one_that_is_meant(out, headers, wanted, word):
    text = f"Student,ID,SIS User ID,SIS Login ID,Section,{headers}\nOne,1,s1001,sone,A,,\n"
    if word is not None:
        with pytest.raises(InputError, match=word):
            write("canvas", out, text, column=wanted)
    else:
        written = write("canvas", out, text, column=wanted)
        canvas_lines(written.text, wanted)
        assert any("makes a new assignment" in sentence for sentence in written.told)


def test_the_column_that_is_filled_is_named(out):
    assert "The grades are in the column 'Little (77)'." in write("canvas", out).told


def test_what_is_excused_stays_and_what_is_replaced_is_told(out):
    text = CANVAS.replace("sone,A,5,,50", "sone,A,5,EX,50").replace(
        "+stwo,A and B,,,", "stwo,B,,4,"
    )
    written = write("canvas", out, text)
    _, students = canvas_lines(written.text.replace(",EX", ",0"))
    assert ",EX\r\n" in written.text
    assert students[1]["Little (77)"] == "20"
    told = "\n".join(written.told)
    assert "left as they are: s1001" in told
    assert "replaced: s1002, s1003" in told
    locked = WORKSHEET.replace(
        '100.00,Yes,"Monday, 30 November 2026, 9:00 AM",-,', '100.00,No,"x",-,See me.'
    )
    written = write("moodle", out, locked)
    first = next(csv.DictReader(io.StringIO(written.text, newline="")))
    assert (first["Grade"], first["Feedback comments"]) == ("", "See me.")
    assert any("left as they are: s1001" in sentence for sentence in written.told)


@pytest.mark.parametrize(
    "before", ["-5", "-2.50", "12,5", "- first line\nsecond", "Zoë\u200cX\u00a0Y"]
)
def test_cells_of_those_who_handed_in_nothing_stay_as_they_were(out, before):
    quoted = '"' + before + '"'
    text = WORKSHEET.replace(
        "No submission,,100.00,Yes,-,-,", f"No submission,{quoted},100.00,Yes,-,-,{quoted}"
    )
    *_, last = csv.DictReader(io.StringIO(write("moodle", out, text).text, newline=""))
    kept = f"'{before}" if before.startswith("- ") else before
    assert (last["Grade"], last["Feedback comments"]) == (kept, kept)


def test_two_students_with_one_address_are_told_apart_or_told(out):
    text = MOODLE.replace("two@example.org", "one@example.org").replace(
        ",s1005,,", ",s1005,five@example.org,"
    )
    written = write("moodle", out, text)
    lines = list(csv.reader(io.StringIO(written.text, newline="")))
    assert [line[0] for line in lines] == ["ID number", "s1001", "s1002", "s1003", "s1005"]
    only = "Email address,login\none@example.org,s1001\none@example.org,s1002\nthree@example.org,s1003\n"
    written = write("moodle", out, only)
    assert "one@example.org" not in written.text
    assert any("of somebody else" in sentence for sentence in written.told)


def test_addresses_are_found_whatever_the_sites_language(tmp_path):
    out = make_class(tmp_path, {"one@example.org": CLASS["s1001"]})
    german = "Vorname,Nachname,ID-Nummer,E-Mail-Adresse\nS,Eins,s1001,one@example.org\n"
    written = write("moodle", out, german)
    assert "one@example.org,1.5," in written.text


def test_canvas_rows_without_a_name_are_students_too(out):
    text = CANVAS.replace('"One, Student",12345', ",12345")
    _, students = canvas_lines(write("canvas", out, text).text)
    assert students[0]["Little (77)"] == "30"
    text = CANVAS + '"Student, Test",99999,,7c0ffee,A,,,\n'
    assert "7c0ffee" not in "\n".join(write("canvas", out, text).told)


def test_blackboards_words_are_no_grades(out):
    text = BLACKBOARD.replace('"11"', '"Needs Grading"')
    lines = list(csv.reader(io.StringIO(write("blackboard", out, text).text)))
    assert lines[4] == ["sfour", ""]


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
