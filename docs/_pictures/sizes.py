"""What an installation takes on the disk, read from what is installed here."""

from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: Packages that are smaller are added up.
_SMALL = 5_000_000


def installed(name: str) -> dict[str, int]:
    """Return the bytes of a distribution and of all that it needs, without extras."""
    found: dict[str, int] = {}
    waiting = [name]
    while waiting:
        one = canonicalize_name(waiting.pop())
        if one in found:
            continue
        package = distribution(one)
        files = (file.locate() for file in package.files or [])
        found[one] = sum(file.stat().st_size for file in files if file.is_file())
        for text in package.requires or []:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name)
    return found


def sizes() -> str:
    """Return a line per package beside lowlift itself, in millions of bytes."""
    try:
        found = installed("lowlift")
    except PackageNotFoundError:
        return "lowlift is not installed where this page was built"
    del found["lowlift"]
    large = {name: size for name, size in found.items() if size >= _SMALL}
    small = [size for name, size in found.items() if name not in large]
    lines = [
        f"{name:<14} {size / 1e6:4.0f} MB"
        for name, size in sorted(large.items(), key=lambda item: -item[1])
    ]
    lines.append(f"{f'{len(small)} smaller':<14} {sum(small) / 1e6:4.0f} MB")
    lines.append(f"{'all':<14} {sum(found.values()) / 1e6:4.0f} MB")
    return "\n".join(lines)
