"""A picture that a notebook shows, and that can be saved."""

import os
from dataclasses import dataclass, field
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class Picture:
    """What ``plot`` returns: a notebook shows it, `save` writes it."""

    title: str
    #: One ``<svg>`` element.
    svg: str = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as an SVG file."""
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n'
        Path(path).write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the picture on white, which its text needs."""
        style = "max-width:64em;background:#fff"
        return f'<div style="{style}" title="{escape(self.title)}">{self.svg}</div>'
