"""An assignment's questions as a student reads them."""

from grader.assignment.questions import (
    Buckets,
    Choice,
    NumberQuestion,
    Open,
    Question,
    Shape,
    Steps,
    Table,
)

FORMS = {
    Choice: "a letter",
    NumberQuestion: "a number",
    Shape: "a tuple",
    Table: "a list in the order of the rows, or a dict from row to cell",
    Buckets: "a dict from item to bucket",
    Steps: "a dict from column to value",
    Open: "a text in your own words; a person marks it",
}


def question_text(question: Question) -> str:
    """A question as plain text: id and points, what is asked, what there is to choose from."""
    worth = f"{question.points.normalize():f}"
    head = f"{question.id}  ({worth}; {FORMS[type(question)]})"
    return "\n".join([head, question.prompt, *_details(question)])


def _details(question: Question) -> list[str]:
    match question:
        case Choice(options=options):
            return [f"  {letter}. {text}" for letter, text in options.items()]
        case Table(rows=rows, column=column):
            return [f"  column: {column}", *(f"  - {row}" for row in rows)]
        case Buckets(buckets=buckets, answer=items):
            # In another order than in the file, where items of a bucket stand together.
            listed = sorted(items, key=str.casefold)
            return [f"  buckets: {', '.join(buckets)}", *(f"  - {item}" for item in listed)]
        case Steps(rows=rows):
            lines = [
                ", ".join(f"{column} = {value}" for column, value in row.items()) for row in rows
            ]
            return [f"  {line}" for line in lines]
    return []
