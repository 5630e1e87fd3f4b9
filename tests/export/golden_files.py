"""Writes the golden files anew: python -m tests.export.golden_files. Read the difference after."""

import tempfile
from pathlib import Path

from grader.export import FORMATS, Source, Wanted
from tests.export.classes import CLASS_FORMATS, make_class, wanted_of
from tests.export.reports import ENVIRONMENT, GOLDEN, THREE, to_json

SUFFIX = {
    "classroom": "b64", "classroom50": "json", "gradescope": "json", "junit": "xml", "csv": "csv",
    "markdown": "md", "outputs": "txt", "annotations": "txt", "canvas": "csv", "moodle": "csv",
    "blackboard": "csv",
}  # fmt: skip


def golden_texts(folder):
    """Every golden file's name with what it holds."""
    texts = {}
    out = make_class(folder / "class")
    for name, form in FORMATS.items():
        if name in CLASS_FORMATS:
            written = form.write(Source(out), wanted_of(name))
            told = "".join(f"{sentence}\n" for sentence in written.told)
            texts[f"class.{name}.{SUFFIX[name]}"] = written.text
            texts[f"class.{name}.told.txt"] = told
            continue
        for which, make in THREE.items():
            path = folder / f"{which}.json"
            path.write_text(to_json(make()), encoding="ascii")
            written = form.write(Source(path), Wanted(environment=ENVIRONMENT))
            texts[f"{which}.{name}.{SUFFIX[name]}"] = without_time(written.text)
    return texts


def without_time(text):
    """Without when it was graded, which is another time each time."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith('"graded_at"'))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for name, text in golden_texts(Path(temporary)).items():
            (GOLDEN / name).write_bytes(text.encode())
