"""Write patients.csv: 4000 invented patients, for the how-tos."""
# ruff: noqa: INP001, S311

import csv
import random
from pathlib import Path


def main() -> None:
    """Draw the patients, always the same."""
    draw = random.Random(7)
    with Path("patients.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "age", "region", "smoker", "disease"])
        for number in range(4000):
            age = min(95, int(draw.triangular(0, 100, 35)))
            region = draw.choice(["north", "south", "coast"])
            smoker = "yes" if draw.random() < (0.35 if 18 <= age < 65 else 0.1) else "no"
            lungs = 0.1 + 0.25 * (smoker == "yes") + 0.1 * (region == "coast")
            heart = 0.05 + age / 250
            chances = [1 - lungs - heart, lungs, heart]
            disease = draw.choices(["none", "lungs", "heart"], chances)[0]
            table.writerow([number, age, region, smoker, disease])


if __name__ == "__main__":
    main()
