"""Hears what happens while a class is graded."""

from grader.batch.gradebook import ClassRow


class Watcher:
    """Hears what happens while a class is graded; does nothing by itself."""

    def begun(self, submission: str) -> None:
        """A submission begins to be graded; called from any thread."""

    def finished(self, row: ClassRow) -> None:
        """A submission has its report, newly graded or kept."""

    def told(self, sentence: str) -> None:
        """Something that whoever runs it should know, such as workers that are not used."""
