"""A small class, and what each site's own export says of its students."""

from grader.batch import find_submissions, grade_class
from grader.batch.roster import Roster
from grader.export import Wanted
from tests.batch.little import Canned, make_little, written

CLASS = {
    "s1001": "# points: 1.5",
    "s1002": "# points: 1\n# misconception: scale-missing",
    "s1003": "# points: 0\n# status: timed_out",
    "stranger": "# points: 1.5",
    "s1005": "# points: 1\n# status: review",
}
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Warm-up (70),Little (77),Final Score
,,,,,Manual Posting,,
    Points Possible,,,,,5,30,(read only)
"One, Student",12345,s1001,sone,A,5,,50
"=Two, Student",12346,s1002,+stwo,A and B,,,
"Three, Student",12347,s1003,sthree,B,,7,
"Four, Student",12348,s1004,sfour,B,,12,
"Five, Student",12349,s1005,sfive,B,,,
"""
MOODLE = """\
First name,Last name,ID number,Email address,Assignment: Little (Real)
Student,One,s1001,one@example.org,-
Student,Two,s1002,two@example.org,-
Student,Three,s1003,three@example.org,-
Student,Four,s1004,four@example.org,-
Student,Five,s1005,,-
"""
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 901,Student One,s1001,one@example.org,Submitted for grading,,100.00,Yes,\
"Monday, 30 November 2026, 9:00 AM",-,
Participant 902,Student Two,s1002,two@example.org,Submitted for grading,,100.00,Yes,\
"Monday, 30 November 2026, 9:05 AM",-,
Participant 904,Student Four,s1004,four@example.org,No submission,,100.00,Yes,-,-,
"""
BLACKBOARD = """\
"Last Name","First Name","Username","Student ID","Little [Total Pts: 15 Score] |2345","Other [Total Pts: 5 Score] |2346"
"One","Student","sone","s1001","","5"
"Two","Student","stwo","s1002","",""
"Three","Student","sthree","s1003","3",""
"Four","Student","sfour","s1004","11",""
"Five","Student","=sfive","s1005","",""
"""
ROSTERS = {"canvas": CANVAS, "moodle": MOODLE, "blackboard": BLACKBOARD}
CLASS_FORMATS = frozenset(ROSTERS)


def make_class(folder, texts=CLASS):
    """A class's `--out`, graded without running anything."""
    little = make_little(folder / "assignments" / "little")
    submissions = written(folder / "handed_in", **texts)
    out = folder / "out"
    grade_class(find_submissions([submissions]), little, out, Canned(little))
    return out


def wanted_of(form, text=None, **more):
    """What is wanted with a site's own export."""
    return Wanted(roster=Roster.parse(text or ROSTERS[form], f"{form}.csv"), **more)
