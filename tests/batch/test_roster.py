"""Class lists: every site's columns, and that an id finds one student or none."""

import pytest

from grader.batch.roster import Roster
from grader.errors import InputError

MOODLE = """\
Identifier,Full name,ID number,Email address,Status,Grade
Participant 1234567,Student One,s1001,one@example.org,Submitted,
Participant 1234568,Student Two,,two@example.org,Submitted,
Participant 1234569,Student Three,,,Submitted,
"""
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (123)
,,,,,Manual Posting
    Points Possible,,,,,10
"One, Student",12345,1001,sone,A,8
"Two, Student",12346,1002,stwo,A and B,
"""
GITHUB = """\
"identifier","github_username","github_id","name"
"s1001","one-gh","9001","Student One"
"Student Two","two-gh","9002","Student Two"
"s1003","","",""
"""
GRADESCOPE = """\
First Name,Last Name,SID,Email,Sections,Total Score,Submission ID
Student,One,1001,one@example.org,A,8.0,456789
Student,Two,,two@example.org,A,,456790
"""
BLACKBOARD = """\
"Last Name","First Name","Username","Student ID","Lab 1 [Total Pts: 10 Score] |123"
"One","Student","sone","1001","8"
"Two","Student","stwo","","9"
"""


@pytest.mark.parametrize(
    ("text", "student", "key"),
    [
        (MOODLE, "1234567", "s1001"),
        (MOODLE, "Participant 1234567", "s1001"),
        (MOODLE, "participant  1234567", "s1001"),
        (MOODLE, "Participant1234567", "s1001"),
        (MOODLE, "S1001", "s1001"),
        (MOODLE, "One@Example.org", "s1001"),
        (MOODLE, "1234568", "two@example.org"),
        (MOODLE, "1234569", "1234569"),
        (CANVAS, "12345", "1001"),
        (CANVAS, "STWO", "1002"),
        (GITHUB, "one-gh", "s1001"),
        (GITHUB, "9002", "two-gh"),
        (GITHUB, "s1003", "s1003"),
        (GRADESCOPE, "456789", "1001"),
        (GRADESCOPE, "two@example.org", "two@example.org"),
        (BLACKBOARD, "sone", "1001"),
        (BLACKBOARD, "stwo", "stwo"),
    ],
)
def test_any_id_finds_the_student(text, student, key):
    row = Roster.parse(text, "roster.csv").find(student)
    assert row is not None
    assert row.key == key


@pytest.mark.parametrize("text", [MOODLE, CANVAS, GITHUB, GRADESCOPE, BLACKBOARD])
@pytest.mark.parametrize(
    "student",
    ["", " ", "Student One", "One, Student", "Student", "One", "Student Two", "one@example",
     "one", "100", "01001", "10", "8", "8.0", "A", "Submitted", "Points Possible"],
)  # fmt: skip
def test_no_name_and_no_part_of_an_id_finds_anybody(text, student):
    roster = Roster.parse(text, "roster.csv")
    assert roster.find(student) is None
    assert student not in roster.ambiguous


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_form_of_the_csv_does_not_matter(delimiter, start, end):
    text = start + BLACKBOARD.replace(",", delimiter).replace("\n", end)
    roster = Roster.parse(text, "roster.csv")
    assert [row.key for row in roster.rows] == ["1001", "stwo"]
    assert roster.rows[0].columns["First Name"] == "Student"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_excels_line_about_the_delimiter_is_no_header(delimiter):
    text = f"sep={delimiter}\r\nID{delimiter}Name\r\n7{delimiter}Student One\r\n"
    assert Roster.parse(text, "r").find("7").columns == {"ID": "7", "Name": "Student One"}


@pytest.mark.parametrize("text", ["ID,Note\n7,a;b;c\n8,d;e;f\n", "ID\n7\n8\n", 'ID,"a;b;c"\n7,x\n'])
def test_a_delimiter_inside_of_cells_is_none(text):
    assert Roster.parse(text, "r").find("7").columns["ID"] == "7"


@pytest.mark.parametrize(
    ("text", "student"),
    [
        ("username\none\ntwo\n", "two"),
        ("Student no.,Name\ns1,Student One\ns2,Student Two\n", "s2"),
        ("Matrikel-Nr,Name\n1,Student One\n2,Student Two\n", "2"),
        ("students\ns1\ns2\n", "s2"),
        ("Kontakt,Name\none@example.org,Student One\ntwo@example.org,Two\n", "two@example.org"),
        ("  user   ID , Name\n1,Student One\n2,Student Two\n", "2"),
    ],
)
def test_a_plain_list_needs_only_a_column_of_ids(text, student):
    assert Roster.parse(text, "r").find(student).key == student


def test_an_id_of_two_students_finds_neither_and_is_told():
    text = "ID,Username,Email\n1,one,a@example.org\n2,ONE,b@example.org\n3,2,c@example.org\n"
    roster = Roster.parse(text, "r")
    assert roster.ambiguous == ["2", "one"]
    assert roster.find("one") is roster.find("2") is None
    assert [row.key for row in roster.rows] == ["a@example.org", "b@example.org", "c@example.org"]
    assert roster.find("1").key == "a@example.org"


def test_a_plain_list_may_hold_an_id_twice():
    roster = Roster.parse("Student no.\ns1\ns2\nS2\n", "r")
    assert (roster.ambiguous, roster.find("s1").key, roster.find("s2")) == (["s2"], "s1", None)


def test_a_row_that_stands_there_twice_counts_once():
    roster = Roster.parse("ID,Name\n1,Student One\n1,Student One\n", "r")
    assert (len(roster.rows), roster.ambiguous, roster.find("1").key) == (1, [], "1")


def test_an_id_twice_in_one_row_is_not_ambiguous():
    assert Roster.parse("ID,Username\n1,1\n", "r").find("1").key == "1"


def test_rows_without_an_id_are_told():
    roster = Roster.parse("ID,Name\n1,Student One\n\n,Student Two\n", "r")
    assert (len(roster.rows), roster.without_id) == (1, [4])


def test_canvass_own_lines_are_no_students():
    roster = Roster.parse(CANVAS, "r")
    assert ([row.key for row in roster.rows], roster.without_id) == (["1001", "1002"], [])


def test_short_and_long_rows_are_read():
    roster = Roster.parse("ID,Name\n1\n2,Student Two,more\n", "r")
    assert [row.columns for row in roster.rows] == [
        {"ID": "1", "Name": ""},
        {"ID": "2", "Name": "Student Two"},
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("\ufeff\n \n", "empty"),
        ("ID,Name\n", "no students"),
        ("Name,Grade\nStudent One,8\nStudent Two,9\n", "no column of ids"),
        ("1001\n1002\n", "no column of ids"),
        ("one@example.org\ntwo@example.org\n", "no column of ids"),
        ("Number of points,Name\n8.5,Student One\n9.5,Student Two\n", "no column of ids"),
        ("ID,Name\n,Student One\n", "no id of any student"),
        ("ID,Name\n1," + "x" * 200_000 + "\n", "cannot be read"),
    ],
)
def test_what_is_no_roster_is_refused_in_a_sentence(text, says):
    with pytest.raises(InputError, match=says) as caught:
        Roster.parse(text, "roster.csv")
    message = str(caught.value)
    assert message.startswith("roster.csv ")
    assert message.endswith(".")
