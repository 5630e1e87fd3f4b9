"""Downloads of course sites: whose submission each file is, read off the names alone."""

import pytest

from grader.batch.layouts import last_attempts, recognise

NAMES = ["Student One", "Étudiante Deux", "O'Three Student", "學生四", "Student_Five", "Five 5"]
ATTEMPT = "_attempt_2024-10-01-10-00-00"


def seen(*names, root=""):
    """The site, and for each attempt its student, its number and its names."""
    layout = recognise(names, root)
    assert layout is not None
    return layout.site, [(e.student, e.attempt, e.names) for e in layout.entries]


def students(*names, root=""):
    return [student for student, _, _ in seen(*names, root=root)[1]]


@pytest.mark.parametrize("name", [*NAMES, "Participant", "Group A-Student One", "Gruppe_2"])
@pytest.mark.parametrize("folder", ["_assignsubmission_file_", "_assignsubmission_file"])
def test_a_moodle_folder_is_a_submission_whatever_the_name(name, folder):
    top = f"{name}_1234567{folder}"
    assert seen(f"{top}/mask.py", f"{top}/deep/er.py") == (
        "moodle",
        [("1234567", "", {"": top})],
    )


@pytest.mark.parametrize("name", NAMES)
def test_moodles_flat_files_of_a_student_are_one_submission(name):
    tops = [f"{name}_12_assignsubmission_file_{file}" for file in ("a_b_3.py", "mask.ipynb")]
    expected = {"a_b_3.py": tops[0], "mask.ipynb": tops[1]}
    assert seen(*tops) == ("moodle", [("12", "", expected)])


def test_moodles_default_group_goes_by_its_name():
    assert students("Default group_assignsubmission_file_/a.py") == ["Default group"]


@pytest.mark.parametrize("text", ["_/onlinetext.html", "/onlinetext.html", "_onlinetext.html"])
def test_moodles_online_text_is_told_only_where_there_is_no_file(text):
    one, two = "Student One_1_assignsubmission", "Student Two_2_assignsubmission"
    layout = recognise([f"{one}_file_/a.py", f"{one}_onlinetext{text}", f"{two}_onlinetext{text}"])
    assert [e.student for e in layout.entries] == ["1"]
    assert layout.others == [f"{two}_onlinetext{text}".partition("/")[0]]


def test_moodles_feedback_is_no_submission():
    feedback = [f"S_{n}_assignfeedback_file_/a.py" for n in range(3)]
    layout = recognise(["S_1_assignsubmission_file_/a.py", *feedback])
    assert [e.student for e in layout.entries] == ["1"]
    assert layout.others == [f"S_{n}_assignfeedback_file_" for n in range(3)]
    assert recognise(feedback) is None


@pytest.mark.parametrize(
    ("top", "student", "inner", "late"),
    [
        ("onestudent_12345_67890_mask.py", "12345", "mask.py", False),
        ("onestudent_LATE_12345_67890_mask.py", "12345", "mask.py", True),
        ("onestudent_late_12345_67890_mask.py", "12345", "mask.py", True),
        ("onestudent_12345_67890_part_1_2000_a b.py", "12345", "part_1_2000_a b.py", False),
        ("étudiantedeux_12_67890_mask.py", "12", "mask.py", False),
        ("e\u0301tudiante_12_67890_mask.py", "12", "mask.py", False),
        ("one_student_12_67890_mask.py", "12", "mask.py", False),
        ("group1_12_67890_mask.py", "12", "mask.py", False),
        ("學生_10000000012345_10000000067890_mask.py", "10000000012345", "mask.py", False),
        ("anon_Ab12C_67890_mask.py", "Ab12C", "mask.py", False),
        ("LATE_anon_Ab12C_67890_mask.py", "Ab12C", "mask.py", True),
        ("anonymous_Ab12C_67890_mask.py", "Ab12C", "mask.py", False),
        ("onestudent_12345_67890_text.html", "12345", "text.html", False),
    ],
)
def test_a_canvas_name_gives_the_user(top, student, inner, late):
    (entry,) = recognise([top]).entries
    assert (entry.student, entry.attempt, entry.late) == (student, "", late)
    assert entry.names == {inner: top}


def test_canvas_files_of_a_student_are_one_submission():
    one = ["onestudent_1_501_a.py", "onestudent_1_502_b.py"]
    two = ["twostudent_2_503_a.py", "twostudent_2_504_work", "twostudent_2_504_work.zip"]
    assert seen(*one, f"{two[1]}/a.py", two[0], two[2]) == (
        "canvas",
        [
            ("1", "", {"a.py": one[0], "b.py": one[1]}),
            ("2", "", {"a.py": two[0], "work": two[1], "work.zip": two[2]}),
        ],
    )


def test_what_canvas_writes_itself_is_no_submission():
    own = ["bstudent_2_text.html", "cstudent_LATE_3_link.html", "anon_Ab12C_text.html"]
    own += ["d_student4_question_98765_67890_mask.py"]
    layout = recognise(["astudent_1_500_mask.py", *own])
    assert [e.student for e in layout.entries] == ["1"]
    assert layout.others == sorted(own)
    assert recognise(own) is None


UUID = "0f0f0f0f-1234-4abc-8def-0123456789ab"


@pytest.mark.parametrize(
    ("files", "expected"),
    [  # the files of student 1, then what they are called in each attempt
        (["mask-1.py"], [["mask.py"]]),
        (["mask-12.ipynb"], [["mask.ipynb"]]),
        (["mask-1.tar.gz"], [["mask.tar.gz"]]),
        ([f"mask-{UUID}.py"], [["mask.py"]]),
        (["mask-1-1.py"], [["mask-1.py"]]),
        (["mask-2024.py"], [["mask-2024.py"]]),
        (["mask.py", "mask-1.py"], [["mask.py"], ["mask.py"]]),
        (["mask-1.py", "mask.py"], [["mask-1.py", "mask.py"]]),  # `mask.py` came later
        (["a.py", "m.py", "m-1.py", "m-2.py"], [["m.py"], ["m.py"], ["a.py", "m.py"]]),
        (["part-1.py", "part-2.py"], [["part-1.py", "part-2.py"]]),  # nobody has a `part.py`
        (["lab-1.py", "lab.ipynb"], [["lab.py", "lab.ipynb"]]),
    ],
)  # fmt: skip
def test_canvas_numbers_are_taken_off_where_no_work_is_lost(files, expected):
    tops = [f"astudent_1_{500 + n}_{file}" for n, file in enumerate(files)]
    layout = recognise([*tops, "bstudent_2_600_other.py"])
    entries = [e for e in layout.entries if e.student == "1"]
    assert [sorted(e.names) for e in entries] == [sorted(names) for names in expected]
    assert sorted(top for e in entries for top in e.names.values()) == sorted(tops)
    assert tops[-1] in entries[-1].names.values()  # the latest upload


def test_a_class_that_used_the_name_before_gets_it_back():
    tops = ["astudent_1_501_lab-1.py", "bstudent_2_502_lab-2.py", "cstudent_3_503_lab-1.py"]
    assert [list(e.names) for e in recognise(tops).entries] == [["lab.py"]] * 3


def test_versions_without_the_first_are_attempts_where_the_class_has_the_name():
    tops = ["astudent_1_501_lab-1.py", "astudent_1_502_lab-2.py", "bstudent_2_503_lab.py"]
    assert seen(*tops)[1] == [
        ("1", "001", {"lab.py": tops[0]}),
        ("1", "002", {"lab.py": tops[1]}),
        ("2", "", {"lab.py": tops[2]}),
    ]


def test_parts_stay_parts_where_one_student_has_them_in_one_file():
    parts = [f"{n}student_{k}_5{k}{p}_part-{p}.py" for k, n in enumerate("abc") for p in (1, 2)]
    layout = recognise([*parts, "dstudent_9_600_part.py"])
    assert [list(e.names) for e in layout.entries] == [["part-1.py", "part-2.py"]] * 3 + [
        ["part.py"]
    ]


def test_attempts_beyond_nine_stay_in_order():
    numbers = ["", *(f"-{n}" for n in range(1, 12))]
    tops = [f"astudent_1_{500 + n}_a{number}.py" for n, number in enumerate(numbers)]
    (last,), earlier = last_attempts(recognise(tops))
    assert last.names == {"a.py": tops[-1]}
    assert [e.names["a.py"] for e in earlier] == tops[:-1]


def test_a_group_that_is_graded_one_by_one_shares_its_file():
    assert students("astudent_1_67890_a.py", "bstudent_2_67890_a.py") == ["1", "2"]


METADATA = "submission_metadata.yml"


@pytest.mark.parametrize(
    ("path", "metadata", "root"),
    [
        ("assignment_123_export/", True, ""),
        ("assignment_123_export/", False, ""),
        ("download/assignment_123_export/", True, ""),
        ("", True, ""),
        ("", False, "assignment_123_export"),
    ],
)
def test_gradescopes_folders_are_submissions(path, metadata, root):
    names = [f"{path}submission_{n}/{file}" for n in (7, 8) for file in ("a.py", "b/c.py")]
    layout = recognise([*names, *([path + METADATA] if metadata else [])], root)
    assert (layout.site, layout.others) == ("gradescope", [])
    assert layout.metadata == (path + METADATA if metadata else None)
    assert [(e.student, e.names) for e in layout.entries] == [
        (n, {"": f"{path}submission_{n}"}) for n in "78"
    ]


@pytest.mark.parametrize(
    ("names", "root", "users"),
    [
        (["m-submissions/m-one/a.py", "m-submissions/m-two-b/a.py"], "", ["one", "two-b"]),
        (["mask-one/a.py", "mask-two/a.py"], "mask-submissions", ["one", "two"]),
        (["lab-1-a-x/a.py", "lab-1-a-y/a.py"], "lab-1-submissions", ["a-x", "a-y"]),
        (["lab-1-one/.git/HEAD", "lab-1-two-b/.git/HEAD"], "", ["one", "two-b"]),
        (["lab-one/.github/a.yml", "lab-two/.git/HEAD", "notes.txt"], "", ["one", "two"]),
        (["lab-one/.git/HEAD", "lab-two/.git/HEAD"], "other-submissions", ["one", "two"]),
    ],
)  # fmt: skip
def test_classrooms_checkouts_are_submissions(names, root, users):
    layout = recognise(names, root)
    assert layout.site == "github-classroom"
    assert [e.student for e in layout.entries] == users
    assert all(folder in names[0] + names[1] for e in layout.entries for folder in e.names.values())


@pytest.mark.parametrize(
    ("heads", "users"),
    [
        (["Lab 1_one", "Lab 1_two"], ["one", "two"]),
        (["Lab_1_student_one", "Lab_1_other"], ["other", "student_one"]),
        (["Lab_1_one"], ["one"]),
        (["Lab_one", "Lab_one_b"], ["one", "one_b"]),
    ],
)
def test_blackboards_names_give_the_user(heads, users):
    tops = [f"{head}{ATTEMPT}_mask_1.py" for head in heads]
    receipts = [f"{head}{ATTEMPT}.txt" for head in heads]
    layout = recognise([*tops, *receipts])
    assert (layout.site, [e.student for e in layout.entries]) == ("blackboard", users)
    assert {top for e in layout.entries for top in e.names.values()} == set(tops)
    assert all(list(e.names) == ["mask_1.py"] for e in layout.entries)
    assert layout.others == sorted(receipts)


def test_the_last_attempt_counts():
    tops = [f"L_one_attempt_2024-10-0{day}-10-00-00_{day}.py" for day in (2, 1)]
    layout = recognise([*tops, f"L_two{ATTEMPT}_a.py"])
    assert [(e.student, e.attempt[8:10]) for e in layout.entries] == [
        ("one", "01"),
        ("one", "02"),
        ("two", "01"),
    ]
    counting, earlier = last_attempts(layout)
    assert [e.names for e in counting] == [{"2.py": tops[0]}, {"a.py": f"L_two{ATTEMPT}_a.py"}]
    assert [e.names for e in earlier] == [{"1.py": tops[1]}]


DOWNLOADS = {
    "moodle": [f"S_{n}_assignsubmission_file_/a.py" for n in range(4)],
    "canvas": [f"{n}student_{k}_50{k}_a.py" for k, n in enumerate("abcd")],
    "gradescope": [METADATA, *(f"submission_{n}/a.py" for n in range(4))],
    "github-classroom": [f"lab-{n}/.git/HEAD" for n in "abcd"],
    "blackboard": [f"Lab_{n}{ATTEMPT}_a.py" for n in "abcd"],
}


@pytest.mark.parametrize("site", DOWNLOADS)
def test_junk_and_an_outer_folder_do_not_matter(site):
    names = [*DOWNLOADS[site], "__MACOSX/._x", "__MACOSX/y/z", ".DS_Store", "desktop.ini", "._a"]
    inside = recognise([f"out er/{name}" for name in names])
    plain = recognise(names)
    assert plain.site == inside.site == site
    assert plain.others == inside.others == []
    assert [e.student for e in plain.entries] == [e.student for e in inside.entries]
    for a, b in zip(plain.entries, inside.entries, strict=True):
        assert {inner: f"out er/{path}" for inner, path in a.names.items()} == b.names


@pytest.mark.parametrize("site", DOWNLOADS)
def test_at_least_two_thirds_must_fit(site):
    two = [f"notes{n}.txt" for n in range(2)]
    layout = recognise([*DOWNLOADS[site], *two])
    assert (layout.site, layout.others) == (site, two)
    assert len(layout.entries) == 4
    assert recognise([*DOWNLOADS[site], *two, "notes/more.txt"]) is None


@pytest.mark.parametrize("site", DOWNLOADS)
def test_every_name_stands_in_one_place(site):
    layout = recognise([*DOWNLOADS[site], "notes.txt"])
    paths = [path for e in layout.entries for path in e.names.values()] + layout.others
    tops = {name.partition("/")[0] for name in DOWNLOADS[site]} - {METADATA}
    assert sorted(paths) == sorted([*tops, "notes.txt"])


def test_two_things_of_one_name_are_both_kept():
    tops = [f"Group {g}-Student One_1_assignsubmission_file_a.py" for g in "AB"]
    assert seen(*tops)[1] == [("1", "", {"a.py": tops[0], tops[1]: tops[1]})]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a.py"],
        ["a.py", "b.py", "c.ipynb"],
        ["one/a.py", "two/a.py", "three/b.py"],
        ["class/one.py", "class/two.py"],
        ["work/.git/HEAD", "work/mask.py", "work/README.md"],  # one student's repository
        [".git/HEAD", ".github/a.yml", "src/mask.py"],
        ["one-a/.git/HEAD", "two-b/.git/HEAD", "three-c/.git/HEAD"],
        ["lab-1/.git/HEAD", "lab-2/.git/HEAD"],
        ["lab-one/a.py", "lab-two/a.py"],
        ["lab-one/.git/HEAD"],
        ["mask-submissions/mask-one/a.py"],
        ["submissions/mask-one/a.py", "submissions/mask-two/a.py"],
        ["submission_1/a.py", "submission_2/a.py"],
        ["lab_2024_10_one.py", "lab_2024_11_two.py"],
        ["one_12345_20241001_a.py", "two_12346_20241001_a.py"],
        ["one_12345_2024_a.py", "two_12346_2024_a.py"],
        ["lab1_2024_1001_a.py", "lab2_2024_1002_a.py"],
        ["One_12345_67890_a.py"],
        ["one_12345_mask.py", "two_12346_mask.py"],
        ["assignsubmission_file_/a.py"],
        ["S_1_assignsubmission_file"],  # a file, where a folder is meant
        ["S_1_assignsubmission_file_.."],
        ["L_one_attempt_2024_a.py", "L_two_attempt_2024_a.py"],
        ["x" * 300 + "_1_assignsubmission_file_/a.py"],
        ["a/b/c/S_1_assignsubmission_file_/a.py"],
    ],
    ids=lambda names: names[0][:30] if names else "nothing",
)
def test_what_is_no_download_is_not_taken_for_one(names):
    assert recognise(names) is None


def test_folders_of_a_zip_and_a_dot_in_front_do_no_harm():
    assert students("S_1_assignsubmission_file_/", "./S_1_assignsubmission_file_/a.py") == ["1"]


def test_long_names_take_no_time():
    assert recognise(["_1" * 50_000, "a_" * 50_000 + ATTEMPT, "-" * 100_000 + "/.git/x"]) is None
