"""Text that came from a submission, made fit for a cell of a table or for a single line."""

from grader.report.terminal import printable

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula, and no reader of CSV for the end of a line."""
    text = printable(text).replace("\n", "\\n")
    return f"'{text}" if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet takes a text for a formula, quotes and blanks before it aside."""
    return text.lstrip("' ").startswith(FORMULA)


def one_line(text: str, most: int | None = None) -> str:
    """Text in one line, without what a terminal or a workflow's log would obey.

    Args:
        text: of any kind.
        most: characters that are kept; the end of a longer text is cut.
    """
    text = " ".join(printable(text).split()).replace("::", ": :")
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"
