"""The files of a publication: what they are, and several as one zip, made while it is sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from lowlift.workflow import Design

#: The files to hand out and those to keep, by their keys, with what they are.
HANDED_OUT = {
    "table": "the table",
    "codebook": "how values were changed, so that others can correct their estimates",
    "public-report": "the public report: the promise, without counts",
}
KEPT = {
    "report": "the report to file: all numbers, warnings, sign-off",
    "release": "keep it: needed when you publish about these people again",
    "receipt": "proof of what was written, and when",
}
_CHUNK = 1 << 18


def about_files(made: Design) -> dict[str, str]:
    """Return what each file is; a codebook that changes nothing does not say how."""
    found = {**HANDED_OUT, **KEPT}
    if made.spec.cells is not None:
        found["codebook"] = "what the columns are"
    elif not made.encoded.share_changed:
        found["codebook"] = "which values there are: none was changed"
    return found


class _Pipe:
    """Takes what a zip file writes and gives it away; it cannot go back."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def take(self) -> bytes:
        """Return what was written since the last time."""
        found, self._parts = b"".join(self._parts), []
        return found


def zipped(paths: list[Path]) -> Iterator[bytes]:
    """Yield files as a zip, a part at a time: no copy is made on the disk."""
    pipe: Any = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED) as archive:
        for path in paths:
            info = ZipInfo.from_file(path, path.name)
            info.compress_type = ZIP_DEFLATED
            with path.open("rb") as file, archive.open(info, "w", force_zip64=True) as out:
                while data := file.read(_CHUNK):
                    out.write(data)
                    yield pipe.take()
    yield pipe.take()
