"""The processes of a server, by what Linux tells of them."""

from pathlib import Path


def is_alive(number):
    """Return whether a process runs; one that ended and was not fetched does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", maxsplit=1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def workers(server):
    """Return the processes of jobs: children of the server that forks them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", maxsplit=1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] != "Z":
            parents[int(path.parent.name)] = int(fields[1])
    children = {number for number, parent in parents.items() if parent == server.process.pid}
    return {number for number, parent in parents.items() if parent in children}
