"""The four-fifths rule, kept by whatever is decided from a published column.

A rule of thumb of fair hiring: no group is selected at less than four fifths of the rate of
another. If for every two groups s and t, and every published y,

    P(y|s) <= 5/4 P(y|t),

then every decision made from y alone keeps it, however it was found: sum both sides over the y that
are selected. That is local differential privacy of the group, ``LDP.at_most(1.25)``. Here several
classifiers are trained to break the rule: they learn the group itself and select one of them.

The rates under the release's own law are fractions, and compared without rounding. On new people of
the same population there is chance, twice: the table that the release was designed on is a sample,
which ``Population`` allows for, and so are the new people, whose rates come with intervals.
"""

import math
from fractions import Fraction
from itertools import permutations
from statistics import NormalDist

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import lowlift as ll
from lowlift.sklearn import LiftPrivatizer

FOUR_FIFTHS = Fraction(4, 5)
GROUPS = ("A", "B", "C")
X = ["school", "gap"]


def people(count: int, seed: int) -> pd.DataFrame:
    """Return applicants: schools and gaps in the CV go with the group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, count, p=[0.5, 0.3, 0.2])
    school = (rng.random(count)[:, None] > np.cumsum(SCHOOLS[group], axis=1)).sum(axis=1)
    gap = rng.random(count) < np.array([0.1, 0.25, 0.4])[group]
    columns = {
        "group": np.array(GROUPS)[group],
        "school": np.array(["state", "private", "evening", "none"])[school],
        "gap": np.where(gap, "yes", "no"),
    }
    return pd.DataFrame(columns)


SCHOOLS = np.array([[0.5, 0.3, 0.1, 0.1], [0.5, 0.1, 0.2, 0.2], [0.3, 0.05, 0.25, 0.4]])


def adversaries(wanted: str) -> dict[str, BaseEstimator]:
    """Return classifiers that select one group, if they can."""
    every = {
        "logistic regression": LogisticRegression(max_iter=1000, class_weight="balanced"),
        "decision tree": DecisionTreeClassifier(class_weight="balanced", random_state=0),
        "random forest": RandomForestClassifier(20, class_weight="balanced", random_state=0),
    }
    return {f"{name}, selects {wanted}": model for name, model in every.items()}


def exact_rates(release: ll.Release, selected: set[int]) -> list[Fraction]:
    """Return the rate at which each group is selected, under the law of the release."""
    joint, channel = release.joint, release.channel
    columns = [joint.exact_column(*channel.atom(y)) for y in range(channel.n_y)]
    return [
        Fraction(sum(columns[y][s] for y in selected), sum(column[s] for column in columns))
        for s in range(joint.n_s)
    ]


def smallest_ratio(rates: list[Fraction] | list[float]) -> Fraction | float:
    """Return the smallest rate over the largest; 1 if nobody is selected."""
    return min(rates) / max(rates) if max(rates) else Fraction(1)


def upper_ratio(selected: np.ndarray, group: np.ndarray) -> float:
    """Return a 95% upper limit of the smallest ratio of rates: one below 4/5 shows a breach."""
    rates = {s: (selected[group == s].mean(), int((group == s).sum())) for s in GROUPS}
    z = NormalDist().inv_cdf(1 - 0.05 / 6)  # six ordered pairs, all at once
    limits = []
    for s, t in permutations(GROUPS, 2):
        (a, n), (b, m) = rates[s], rates[t]
        if min(a, b) > 0:
            error = math.sqrt((1 - a) / (a * n) + (1 - b) / (b * m))
            limits.append(a / b * math.exp(z * error))
    return min(limits, default=1.0)


def worst(release: ll.Release) -> set[int]:
    """Return the one output that tells two groups apart the most: no rule does worse."""
    ratios = [smallest_ratio(exact_rates(release, {y})) for y in range(release.channel.n_y)]
    return {ratios.index(min(ratios))}


def run(title: str, table: pd.DataFrame, new: pd.DataFrame, criterion: ll.Criterion) -> None:
    """Publish both tables under a bound, train the adversaries on one, judge them on the other."""
    privatizer = LiftPrivatizer("group", criterion, encoding="codes", random_state=0).fit(table)
    published, unseen = privatizer.transform(table), privatizer.transform(new[X])
    outputs = pd.DataFrame({published.columns[0]: range(privatizer.release_.channel.n_y)})
    print(f"{title}: NMI {privatizer.audit_.nmi:.3f}")
    rules = {"the worst rule there is": worst(privatizer.release_)}
    for wanted in ("A", "C"):
        for name, model in adversaries(wanted).items():
            encoder = OneHotEncoder(categories=[list(outputs.iloc[:, 0])])
            classifier = make_pipeline(encoder, model).fit(published, table["group"] == wanted)
            rules[name] = set(np.flatnonzero(classifier.predict(outputs)).tolist())
    for name, selected in rules.items():
        exact = smallest_ratio(exact_rates(privatizer.release_, selected))
        assert exact >= FOUR_FIFTHS
        is_selected = unseen.iloc[:, 0].isin(selected).to_numpy()
        limit = upper_ratio(is_selected, new["group"].to_numpy())
        print(f"  {name:<32} exact {float(exact):.4f}, new people: up to {limit:.4f}")


def unprotected(table: pd.DataFrame, new: pd.DataFrame) -> None:
    """Show what the same adversaries do with the columns as they are."""
    print("As it is:")
    for name, model in adversaries("A").items():
        classifier = make_pipeline(OneHotEncoder(), model).fit(table[X], table["group"] == "A")
        selected = classifier.predict(new[X])
        rates = [float(selected[new["group"] == s].mean()) for s in GROUPS]
        print(f"  {name:<32} {smallest_ratio(rates):.4f}")


def main() -> None:
    """Compare the columns as they are with a bound for the table and one for the population."""
    table, new = people(50_000, 1), people(50_000, 2)
    bound = ll.LDP.at_most(Fraction(5, 4))
    unprotected(table, new)
    run("For the table", table, new, bound)
    run("For the population", table, new, ll.Population(bound))


if __name__ == "__main__":
    main()
