"""Definitions first, as a submission meets it: what is run, what is left out, and what that costs."""

import pytest

from grader.grading import Grader
from tests.conftest import failing


def messages(report):
    return [finding.message for finding in report.findings]


EXPLORING = """
import matplotlib.pyplot as plt
from tqdm import tqdm
layer = MultiHeadAttention(32, 4).cuda()
for step in tqdm(range(10 ** 9)):
    layer(torch.randn(1, 3, 32))
plt.plot(open("losses.txt").read())
name = input("Your name? ")
raise SystemExit(name)
"""


def test_exploring_costs_nothing_and_is_told(grade_text, right):
    report = grade_text(right + EXPLORING)
    assert report.code_is_right
    first = right.count("\n") + 4
    assert (
        f"Not run, since nothing that is graded needs it: lines {first}–{first + 5}."
        in messages(report)
    )
    assert "Not installed here, and replaced by what does nothing: matplotlib, tqdm." in messages(
        report
    )


def test_a_result_under_a_definitions_name_costs_nothing(grade_text, right):
    report = grade_text(right + "\nsplit_heads = split_heads(torch.randn(1, 3, 32), 4)\n")
    assert report.code_is_right


def test_what_does_not_end_is_left_out_where_only_calls_need_it(assignment, launcher, right):
    limits = assignment.limits.model_copy(update={"load_seconds": 1})
    quick = assignment.model_copy(update={"limits": limits})
    slow = "\nimport time\nvalue = time.sleep(60)\ndef merge_heads(x):\n    value\n    return x\n"
    report = Grader(quick, launcher).grade({"a.py": (right + slow).encode()}, "a")
    missed = failing(report)
    assert missed["merge_heads_places_features"] == "raised"
    assert {m.id for m in report.milestones if m.score == m.max_score} == {
        "projections",
        "attention",
    }
    assert "What the definitions need came to no end, so they alone were run." in messages(report)


def test_names_that_are_looked_up_as_texts_have_everything_run(grade_text, right):
    hidden = "\nfactor = [1.0]\nfactor = sum(factor)\n"
    text = right.replace("/ math.sqrt(", "/ globals()['factor'] / math.sqrt(")
    assert text != right
    assert grade_text(text + hidden).code_is_right


def test_a_definition_that_only_running_makes_has_everything_run(grade_text, right):
    text = right.replace("def split_heads(", "def _split(").replace(
        "split_heads(self", "_split(self"
    )
    report = grade_text(
        text + "\nfor name in ['split_heads']:\n    vars()[name] = _split\nif 0: split_heads = 1\n"
    )
    assert report.code_is_right


@pytest.mark.parametrize(
    "made",
    [
        "globals()['split_heads'] = _split",
        "exec('split_heads = _split')",
        "import sys\nsys.modules[__name__].split_heads = _split",
        "import sys\nsetattr(sys.modules[__name__], 'split_heads', _split)",
        "vars().update(split_heads=_split)",
    ],
)
def test_names_that_only_running_makes_are_found(grade_text, right, made):
    text = right.replace("def split_heads(", "def _split(").replace(
        "split_heads(self", "_split(self"
    )
    assert grade_text(text + "\n" + made + "\n").code_is_right


def test_a_helper_is_run_as_far_as_others_mention_it(grade_text, right):
    config = "import json\nscale = json.loads('1')\ndata = open('no such file')\n"
    text = "from config import scale\n" + right.replace("/ math.sqrt(", "/ scale / math.sqrt(")
    report = grade_text({"multi_head_attention.py": text, "config.py": config})
    assert report.code_is_right


def test_a_module_in_another_folder_is_found(grade_text, right):
    head, _, tail = right.partition("class MultiHeadAttention")
    assert tail
    main = (
        "import sys\nsys.path.append('../src')\nfrom parts.functions import *\nimport torch\n"
        "from torch import nn\nclass MultiHeadAttention" + tail
    )
    files = {"notebooks/multi_head_attention.py": main, "src/parts/functions.py": head}
    assert grade_text(files).code_is_right


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.w_q(query)", "self.w_q(query.cuda())"),
        ("self.w_q(query)", "self.w_q(query.to('cuda:0'))"),
        ("self.w_q(query)", "self.w_q(query.to(torch.device('mps')))"),
        ("self.n_heads = n_heads", "self.n_heads = n_heads\n        self.cuda()"),
        ("self.n_heads = n_heads", "self.n_heads = n_heads\n        self.to(0)"),
        ("self.w_q(query)", "self.w_q(query + torch.zeros(1, device='cuda'))"),
    ],
)
def test_a_device_that_is_not_there_costs_one_check_and_the_rest_is_graded(
    grade_text, right, old, new
):
    text = right.replace(old, new, 1)
    if "self.cuda()" in new or "self.to(0)" in new:  # once there is something to be moved
        text = right.replace("        self.w_o = ", "        self.w_o = ").replace(
            "\n    def forward",
            "\n        " + new.split("\n")[1].strip() + "\n\n    def forward",
            1,
        )
    assert text != right
    report = grade_text(text)
    missed = failing(report)
    assert len(missed) == 1
    (row,) = [check for check in report.code() if check.status != "passed"]
    assert row.misconception == "cuda-only"
    assert row.message.startswith("Hard-coded CUDA")
    assert row.location.line is not None


@pytest.mark.parametrize(
    "device",
    [
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'",
        "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')",
    ],
)
def test_a_device_that_depends_costs_nothing(grade_text, right, device):
    text = right.replace("self.w_q(query)", "self.w_q(query.to(device))")
    report = grade_text(text.replace("\ndef ", f"\n{device}\n\ndef ", 1))
    assert report.code_is_right


def test_a_device_that_may_be_missing_costs_nothing(grade_text, right):
    tried = """
        try:
            self.cuda()
        except (AssertionError, RuntimeError):
            pass

    def forward"""
    assert grade_text(right.replace("\n    def forward", tried, 1)).code_is_right


FOREIGN = {
    "conftest.py": "raise SystemExit('conftest')",
    "pytest.ini": "[pytest]\naddopts = --collect-only",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'",
    "sitecustomize.py": "raise SystemExit('sitecustomize')",
    "usercustomize.py": "raise SystemExit('usercustomize')",
    "torch.py": "raise SystemExit('torch')",
    "pytest.py": "raise SystemExit('pytest')",
    "math.py": "def sqrt(x): return 1",
    "test_all.py": "def test_nothing(): assert False",
    "setup.py": "raise SystemExit('setup')",
}


def test_a_repositorys_own_machinery_takes_no_part(grade_text, right):
    assert grade_text({"multi_head_attention.py": right, **FOREIGN}).code_is_right


def test_a_definition_in_a_cell_that_cannot_be_read_is_told_so(launcher, assignment, right):
    from tests.intake.test_reader import notebook

    data = notebook(
        "import math, torch",
        "def split_heads(x, n_heads:\n    return x",
        "x = 1\ndef merge_heads(x): return x",
    )
    report = Grader(assignment, launcher).grade({"n.ipynb": data}, "n")
    row = next(check for check in report.code() if check.id == "split_heads_places_features")
    assert (
        row.message == "`split_heads` stands in n.ipynb, cell 2, line 1, which could not be read."
    )


def test_cells_that_stand_before_what_they_need_are_run_after_it(launcher, assignment, right):
    from tests.intake.test_reader import notebook

    head, _, tail = right.partition("class MultiHeadAttention")
    data = notebook("class MultiHeadAttention" + tail, head, "scores = unknown")
    report = Grader(assignment, launcher).grade({"n.ipynb": data}, "n")
    assert report.code_is_right


def test_what_only_running_the_module_makes_is_told_so(grade_text, right):
    lines = right.split("\n")
    inside = "\n".join(f"    {line}" for line in lines)
    report = grade_text("x = 1\nif __name__ == '__main__':\n" + inside + "\n")
    row = next(check for check in report.code() if check.id == "split_heads_places_features")
    assert "does not run when the module is imported" in row.message


def test_what_is_written_to_a_file_and_read_again_is_run(grade_text, right):
    aside = "\nimport json\nwith open('c.json', 'w') as file:\n    json.dump({'half': 0.5}, file)\n"
    text = right.replace("/ math.sqrt(", "* 2 * json.load(open('c.json'))['half'] / math.sqrt(")
    assert text != right
    assert grade_text(text + aside).code_is_right


def test_what_was_left_out_is_run_where_it_is_found_to_lack(grade_text, right):
    fills = "\nclass Box(dict):\n    def put(self, **kw): self.update(kw)\nbox = Box()\nbox.put(one=1.0)\n"
    text = fills + "ONE = box['one']\n" + right.replace("/ math.sqrt(", "* ONE / math.sqrt(")
    assert "ONE / math" in text
    assert grade_text(text).code_is_right
