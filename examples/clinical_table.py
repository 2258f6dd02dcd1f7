"""From a clinic's table to one that can be shared.

The table is made here: 8000 invented patients with age, region, visits a year and a diagnosis that
depends on age and region. Age, region and visits shall be published; the diagnosis is sensitive and
not published at all, but the other columns say something about it. This is what
``lowlift audit``, ``lowlift sanitize`` and ``lowlift verify`` do, called from Python.
"""

import csv
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from lowlift import ALIP
from lowlift.tables import Edges
from lowlift.workflow import Asked, audit_table, sanitize, verify

DIAGNOSES = ("healthy", "diabetes", "depression", "hepatitis")
REGIONS = ("north", "south", "coast")
PATIENTS = 8000


def main() -> None:
    """Run the four steps in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        table = write_patients(Path(folder) / "patients.csv")
        share(table, Path(folder) / "safe.csv")


def share(table: Path, safe: Path) -> None:
    """Audit, sanitize, verify and read, and print what matters at each step."""
    asked = Asked(
        sensitive=("diagnosis",),
        released=("age", "region", "visits"),
        bins={"age": Edges((40, 65)), "visits": Edges((3, 6))},
    )
    bound = ALIP(lower=1.0, upper=0.7)

    print("1. Audit: what would the columns reveal as they are?")
    before = audit_table(str(table), asked, bound)
    worst = before.audit.worst
    print(f"   {before.spec.rows} patients, {before.audit.joint.n_x} combinations of values")
    print(f"   satisfied: {before.is_satisfied}, {len(before.audit.violations)} break the bound")
    print(f"   worst: {worst.s} is {worst.lift:.2f} times as likely for {worst.y}\n")

    print("2. Sanitize: draw a value in place of each patient's own")
    made = sanitize(str(table), asked, bound, str(safe), encoding="values")
    after = made.design.encoded.release.audit
    print(f"   by {made.design.chosen.name}: satisfied: {after.is_satisfied}, NMI {after.nmi:.3f}")
    print(f"   lifts between {after.lift.min():.3f} and {after.lift.max():.3f}")
    print(f"   {made.receipt.rows_out} rows written, columns: {', '.join(columns_of(safe))}\n")

    print("3. Verify: anyone with the confidential release can check it all again")
    found = verify(str(made.files["release"]), against=str(table), published=str(safe))
    for check in found.checks:
        print(f"   {'ok ' if check.is_ok else 'NOT'} {check.name}")
    print(f"   all of it: {found.is_ok}\n")

    print("4. Read: values are drawn so that, on average, each is as frequent as it was")
    true, read = (Counter(row["region"] for row in rows_of(path)) for path in (table, safe))
    print("   region   in the table   in safe.csv")
    for region in REGIONS:
        print(f"   {region:<9}{true[region] / PATIENTS:>12.1%}{read[region] / PATIENTS:>14.1%}")


def write_patients(path: Path) -> Path:
    """Write the invented patients: older ones have diabetes, the coast has hepatitis."""
    random = np.random.default_rng(2024)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("age", "region", "visits", "diagnosis"))
        for _ in range(PATIENTS):
            age = int(random.integers(18, 95))
            region = str(random.choice(REGIONS, p=(0.5, 0.35, 0.15)))
            odds = np.array([8.0, 0.5 + age / 40, 1.2, 2.0 if region == "coast" else 0.3])
            diagnosis = int(random.choice(len(DIAGNOSES), p=odds / odds.sum()))
            visits = int(random.poisson(1.5 + 2.5 * (diagnosis > 0)))
            writer.writerow((age, region, visits, DIAGNOSES[diagnosis]))
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def columns_of(path: Path) -> list[str]:
    """Return the names of a CSV file's columns."""
    return list(rows_of(path)[0])


if __name__ == "__main__":
    main()
