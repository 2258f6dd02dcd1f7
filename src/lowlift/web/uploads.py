"""Uploads: streamed to a private file, counted on the way, CSV or Parquet only."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lowlift.errors import InvalidInput

_ENDINGS = (".csv", ".parquet")
_MOST_FIELDS, _MOST_FIELD = 16, 64 * 1024


class Upload:
    """A form with one file: its fields, and the file on disk."""

    def __init__(self, folder: Path, limit: int, endings: tuple[str, ...] = _ENDINGS) -> None:
        self.fields: dict[str, str] = {}
        self.path: Path | None = None
        #: The first thing that is wrong; the rest of the form is read and thrown away.
        self.fault = ""
        self._folder, self._limit, self._size = folder, limit, 0
        self._endings = endings
        self._file: Any = None
        self._header, self._value = b"", b""
        self._headers: dict[str, bytes] = {}
        self._name, self._content = "", b""

    def on_part_begin(self) -> None:
        """Begin a field or the file."""
        self._headers, self._content, self._name = {}, b"", ""

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        """Read a header's name."""
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        """Read a header's value."""
        self._value += data[start:end]

    def on_header_end(self) -> None:
        """Store a header."""
        self._headers[self._header.decode("latin-1").lower()] = self._value
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        """Open the file when the part is one."""
        from python_multipart.multipart import parse_options_header

        _, options = parse_options_header(self._headers.get("content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options and self.path is None and not self.fault:
            name = safe_name(options[b"filename"].decode("utf-8", "replace"))
            if not name.lower().endswith(self._endings):
                self.fault = f"{name} is not a CSV or Parquet file (.csv, .parquet)."
                if self._endings != _ENDINGS:
                    self.fault = f"choose a file that ends in {self._endings[0]}."
                return
            self.path = self._folder / name
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            self._file = os.fdopen(handle, "wb")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Write the file, or gather a field."""
        if self._file is not None:
            self._size += end - start
            if self._size > self._limit:
                self.too_large()
            elif not self.fault:
                self._file.write(data[start:end])
        elif len(self._content) < _MOST_FIELD:
            self._content += data[start:end]

    def on_part_end(self) -> None:
        """Close the file, or keep a field."""
        if self._file is not None:
            self._file.close()
            self._file = None
        elif self._name and len(self.fields) < _MOST_FIELDS:
            self.fields[self._name] = self._content.decode("utf-8", "replace")

    def too_large(self) -> None:
        """Refuse the rest of the file."""
        name = "the file" if self.path is None else self.path.name
        self.fault = self.fault or (
            f"{name} is too large: at most {self._limit // 2**20:,} MB are taken. Use Parquet, "
            "fewer columns, or start lowlift web with the table's path or a larger upload limit."
        )

    def close(self) -> None:
        """Close a file that was not sent to its end."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self.fault = self.fault or "the upload was cut off. Send it again."

    def finish(self) -> Path:
        """Return the file, or refuse what is not one that can be read."""
        if self.fault:
            raise InvalidInput(self.fault)
        if self.path is None:
            raise InvalidInput("choose a file first: CSV or Parquet.")
        if not self._size:
            raise InvalidInput(f"{self.path.name} is empty. A table needs a header and rows.")
        _check_content(self.path)
        return self.path


async def receive(
    stream: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    limit: int,
    endings: tuple[str, ...] = _ENDINGS,
) -> Upload:
    """Read a form from a request, whole, and keep at most `limit` bytes of its file.

    Browsers show no answer to a request whose body was not read, so a file that is too large is
    read to its end, and not kept.

    Raises
    ------
    InvalidInput
        For a body that is no form.
    """
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import MultipartParser, parse_options_header

    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise InvalidInput("an upload must be sent by the page's form.")
    upload = Upload(folder, limit, endings)
    calls: Any = {name: getattr(upload, name) for name in dir(upload) if name.startswith("on_")}
    parser = MultipartParser(options[b"boundary"], calls)
    try:
        async for chunk in stream:
            parser.write(chunk)
        parser.finalize()
    except FormParserError as error:
        raise InvalidInput("the upload was damaged on its way. Send it again.") from error
    finally:
        upload.close()
    return upload


def safe_name(name: str) -> str:
    """Return a file name without folders and odd characters.

    Examples
    --------
    >>> safe_name("../../etc/my table.csv"), safe_name(".csv")
    ('my_table.csv', 'table.csv')
    """
    last = name.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in last)
    # File systems count bytes, and further endings are added.
    kept = kept.encode()[-120:].decode("utf-8", "ignore").lstrip(".")
    return f"table.{kept}" if kept in {"csv", "parquet"} else kept or "table"


def _check_content(path: Path) -> None:
    """Refuse a file that is not what its name says."""
    with path.open("rb") as file:
        start = file.read(4096)
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        end = file.read()
    if path.suffix.lower() == ".parquet":
        if not (start.startswith(b"PAR1") and end == b"PAR1"):
            raise InvalidInput(f"{path.name} is not a Parquet file, or cut off. Export it again.")
    elif b"\0" in start:
        raise InvalidInput(
            f"{path.name} is not a CSV file: it holds binary data. Export the table as CSV."
        )
