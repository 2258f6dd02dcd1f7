"""What `lowlift gate` finds of one table: as it is, or as it was published."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowlift._cli.config import Job
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift.encodings import Encoded
    from lowlift.workflow import Receipt

#: What a table in a database is compared by.
_BY_COUNTS = (
    "a table in a database has no digest: it is the one that was published as far as its counts of "
    "S by X tell, not row by row."
)


@dataclass(frozen=True)
class Answer:
    """What became of one table.

    Parameters
    ----------
    state
        A word for it: "holds", "breaks", "published", "already published", "not published",
        "refused" or "error".
    detail
        A sentence for people.
    exit_code
        What it makes of the command's.
    data
        What is printed with ``--json``.
    """

    state: str
    detail: str
    exit_code: int
    data: dict[str, Any]

    def warn(self, lines: Iterable[str]) -> None:
        """Add warnings to those that it has."""
        self.data["warnings"] = [*self.data.get("warnings", ()), *lines]


def gated(job: Job) -> Answer:
    """Audit a table as it is, or verify what was published of it."""
    from lowlift._cli import json_data
    from lowlift.workflow import audit_table
    from lowlift.workflow.gating import refuse_unnamed

    if job.out is not None:
        return _verified(job, job.out)
    if not job.others_stay:
        refuse_unnamed(job.source, job.as_it_is, engine=job.engine)
    found = audit_table(job.source, job.as_it_is, job.criterion, engine=job.engine)
    data = json_data.table_audit_data(found)
    detail = data["verdict"]
    alone = [name for name, part in found.columns if not part.is_satisfied]
    if found.audit.is_satisfied and alone:
        detail = f"{found.audit.criterion} DOES NOT HOLD for {', '.join(alone)} alone."
    code = 0 if found.is_satisfied else 1
    answer = Answer("holds" if found.is_satisfied else "breaks", detail, code, data)
    if job.others_stay:
        listed = ", ".join(map(repr, job.as_it_is.released))
        answer.warn([f"only {listed} was judged: no other column of the table may leave with it."])
    return answer


def _verified(job: Job, out: str) -> Answer:
    """Verify what was published, and audit it by the bound of the file."""
    from lowlift._cli import json_data
    from lowlift._release import Release
    from lowlift.encodings import published
    from lowlift.workflow import read_receipt, verify
    from lowlift.workflow.checking import SAME_COUNTS
    from lowlift.workflow.gating import refuse_other
    from lowlift.workflow.sanitizing import files_beside
    from lowlift.workflow.standing import refuse_changed

    files = files_beside(out)
    engine = job.engine if job.engine == "spark" else None
    if not files["receipt"].exists():
        if _is_there(out, engine):
            raise InvalidInput(
                f"what lies at {out} must have its receipt beside it; it has none, so it was not "
                "published by lowlift, or not in full. Remove it, or publish it (lowlift publish)."
            )
        detail = f"{out} is not published yet: lowlift publish."
        return Answer("not published", detail, 0, {"is_satisfied": None})
    if not _is_there(out, engine):
        raise InvalidInput(
            f"{out} must be there as it was published; its receipt is, and it is not. Put back a "
            "copy. If it was never handed out, lowlift publish says how to publish again."
        )
    receipt = read_receipt(files["receipt"])
    encoded = published(Release.from_json(files["release"]))
    # Files are compared by their digest; the counts tell where there is none, or another one.
    by_counts = receipt.source_sha256 is None or encoded.origin.sha256 != receipt.source_sha256
    against = job.source if by_counts else None
    found = verify(str(files["release"]), against=against, published=out, engine=engine)
    if by_counts and not all(check.is_ok for check in found.checks if check.name == SAME_COUNTS):
        refuse_changed("the table", out)
    judged = _judged(job, encoded, receipt)
    outside = receipt.outside_the_guarantee
    failed = [f"{check.name} ({check.detail})" for check in found.checks if not check.is_ok]
    failed += _uncovered(job, receipt)
    if not failed:
        identity = job.given.get("id")
        _refuse_kept(job, receipt)
        refuse_other(
            job.source,
            job.as_designed,
            encoded.origin,
            receipt,
            identity=identity,
            engine=job.engine,
        )
    is_kept = not failed and all(part.is_satisfied for part in judged)
    worst = next((part for part in judged if not part.is_satisfied), judged[0])
    detail = f"NOT verified: {'; '.join(failed)}." if failed else json_data.verdict(worst)
    data = json_data.audit_data(worst) | json_data.verification_data(found)
    data |= {"is_satisfied": is_kept, "files": {name: str(path) for name, path in files.items()}}
    data["except"] = [*data["except"], *outside]
    answer = Answer("holds" if is_kept else "breaks", detail, 0 if is_kept else 1, data)
    if not failed:
        answer.warn(f"outside the guarantee: {item}." for item in outside)
        answer.warn([_BY_COUNTS] * (receipt.source_sha256 is None))
    return answer


def _is_there(out: str, engine: str | None) -> bool:
    """Tell whether there is a table at a target, by whomever it was written."""
    from lowlift.workflow.checking import open_published

    if "://" not in out and "?table=" not in out and engine is None:
        return Path(out).exists()
    try:
        with open_published(out, engine):
            return True
    except InvalidInput:
        return False


def _uncovered(job: Job, receipt: "Receipt") -> list[str]:
    """Return what the guarantee does not cover of what was published, unless the file asks for it.

    What a receipt may say is written in `lowlift.workflow.applying`; the file has no key that asks
    for a seed, nor for what is not known here.
    """
    is_seeded = receipt.draws.startswith("seeded")
    is_accepted = job.draws.accept_uncovered and not is_seeded
    found = [receipt.uncovered] if receipt.uncovered and not is_accepted else []
    for item in receipt.outside_the_guarantee:
        if item.startswith("the order"):
            if not job.draws.keep_order:
                found.append(f"outside the guarantee: {item}; the file has no keep_order")
        elif not (item.startswith("the kept columns") or (is_seeded and "a seed" in item)):
            found.append(f"outside the guarantee: {item}")
    return found


def _refuse_kept(job: Job, receipt: "Receipt") -> None:
    """Refuse columns that were kept beside Y and that the file does not name."""
    stray = [repr(name) for name in receipt.kept if name not in (job.draws.keep or ())]
    if stray:
        raise InvalidInput(
            f"{job.out} must have no kept columns but those of the file; it has "
            f"{', '.join(stray)}. Name them in keep, or publish it again, under another out."
        )


def _judged(job: Job, encoded: "Encoded", receipt: "Receipt") -> "list[Audit]":
    """Return the audits of what was published by the bound of the file: of S, and of each column.

    Raises
    ------
    InvalidInput
        When other columns were protected, or when columns were kept beside Y, whose audit was for
        another bound.
    """
    from lowlift._audit import audit
    from lowlift.criteria import criterion_on
    from lowlift.workflow.columns import per_column

    release, sensitive = encoded.release, encoded.origin.sensitive
    if {column.name for column in sensitive} != set(job.sensitive):
        raise InvalidInput(
            f"{job.out} must protect the sensitive columns of the file; it protects others. "
            "Publish it again, under another out."
        )
    criterion = criterion_on(job.criterion, release.joint)
    if receipt.kept and repr(criterion) != repr(release.criterion):
        raise InvalidInput(
            f"{job.out} was published with kept columns by {release.criterion}; whether it keeps "
            "another bound cannot be told. Publish it again, under another out."
        )
    parts = per_column(release.joint, release.channel, criterion, sensitive)
    return [audit(release.joint, release.channel, criterion), *dict(parts).values()]
