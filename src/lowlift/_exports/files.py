"""What an export is: texts by the names of their files."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from lowlift._files import write_text
from lowlift.errors import InvalidInput


@dataclass(frozen=True)
class Export:
    """The files of an exported release, by name; the program itself is the first.

    Examples
    --------
    >>> Export({"release.sql": "SELECT 1"}).text
    'SELECT 1'
    """

    files: Mapping[str, str]

    @property
    def text(self) -> str:
        """The program."""
        return next(iter(self.files.values()))

    def write(self, place: str | PathLike[str], *, force: bool = False) -> list[Path]:
        """Write the files: one as `place`, several under a folder of that name.

        Raises
        ------
        InvalidInput
            When a file exists and `force` is not given.
        """
        place = Path(place)
        is_one = len(self.files) == 1 and not place.is_dir()
        paths = [place] if is_one else [place / name for name in self.files]
        taken = [path.name for path in paths if path.exists()]
        if taken and not force:
            raise InvalidInput(f"{taken[0]} exists.", advice="overwrite")
        for path, text in zip(paths, self.files.values(), strict=True):
            if not is_one:
                path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text, is_private=False)
        return paths
