"""Short pages that ship with the package; the documentation includes the same files."""

from importlib.resources import files

from lowlift._arguments import check_choice

__all__ = ["TOPICS", "page"]

TOPICS = ("promise", "criteria", "encodings", "budgets", "columns", "config", "exit-codes")


def page(topic: str) -> str:
    r"""Return a page as Markdown.

    Examples
    --------
    >>> page("exit-codes").partition("\n")[0]
    '# Exit codes'
    """
    check_choice(topic, "topic", TOPICS)
    return (files(__name__) / f"{topic}.md").read_text("utf-8")
