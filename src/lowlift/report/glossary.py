"""The terms that a page uses, each in a sentence."""

import re
from html import unescape

from lowlift._wording import capital
from lowlift.report.records import Number

#: Terms with their explanations, and by which words a page is known to use them.
_TERMS: tuple[tuple[str, str, str], ...] = (
    (
        "S, X, Y",
        "the protected values; what is to be published; what is published instead",
        r"\b[SXY]\b",
    ),
    ("P( )", "a share of the rows; P(s|y): of the rows that y was published for", r"\bP\("),
    (
        "Lift",
        "how many times as likely a protected value becomes; 1: nothing is learnt",
        r"\b[Ll]ifts?\b",
    ),
    ("Nats", "the unit of natural logarithms: 0.693 nats are a factor of 2", r"\bnats\b"),
    (
        "Budget, epsilon (ε)",
        "the number of a limit: how far it lets things go; a smaller one is stricter",
        r"\bepsilon\b|ε|\b[Bb]udget",
    ),
    ("Leakage", "the largest logarithm of a lift, up or down, in nats", r"\b[Ll]eakages?\b"),
    (
        "Information kept, NMI",
        "normalised mutual information, I(X;Y) / H(X): the share that Y tells about X",
        r"\bNMI\b|I\(X;Y\)|\b[Ii]nformation\b",
    ),
    ("Channel", "the table of chances by which Y is drawn for X", r"\b[Cc]hannel\b"),
    (
        "Mechanism",
        "the method by which the channel is chosen, so that it keeps the limit",
        r"\b[Mm]echanisms?\b",
    ),
    (
        "Watchdog",
        "values that keep the limit are published as they are, all others as one group",
        r"\bwatchdog\b",
    ),
    (
        "Subset-merging",
        "values that break the limit are merged into small groups that keep it",
        r"\bsubset-merging\b",
    ),
    (
        "Optimal-merging",
        "of all ways to merge values that keep the limit, the one that keeps the most information",
        r"\boptimal-merging\b",
    ),
    (
        "Random-response",
        "of all chances that keep the limit, the ones that keep the most information",
        r"(?<!subset-)\brandom-response\b",
    ),
    (
        "Subset-random-response",
        "values are put into groups, and each group has a random response of its own",
        r"\bsubset-random-response\b",
    ),
    (
        "Least-distortion",
        "values or rows are drawn by the chances that change them least of all that keep the limit",
        r"\bleast[- ]distortion\b",
    ),
    (
        "Proven",
        "by a calculation that anyone can check: nothing that keeps the same limit does better",
        r"\b[Pp]roven\b",
    ),
    (
        "Cell, kind of rows",
        "rows that are alike. A published row is drawn from a cell, so that X and Y are cells",
        r"\b[Cc]ells?\b|\b[Kk]inds? of rows\b",
    ),
    (
        "Condition",
        "a question about a column, such as age below 40, by which cells are told apart",
        r"\bconditions of the\b|\d conditions?\b",
    ),
    (
        "Part",
        "a piece of a cell: rows that stay in their cell stay in their part",
        r"\d parts\b",
    ),
    (
        "Bootstrap",
        "rows of the source drawn again at random: by how much numbers differ by chance alone",
        r"\bbootstrap\b",
    ),
    (
        "Fingerprint",
        "a number that stands for the whole release: any other release has another one",
        r"\b[Ff]ingerprint\b",
    ),
    (
        "SHA-256",
        "a number that stands for the content of a file: a file that was changed has another one",
        r"\bSHA-256\b",
    ),
    (
        "Codebook",
        "the file for readers that says what each published value can stand for",
        r"\b[Cc]odebook\b",
    ),
    ("Receipt", "the file that says what was written, when and by which release", r"\breceipt\b"),
    (
        "Population",
        "everybody whom the rows were drawn from at random, where they are a sample",
        r"\bPopulation\(",
    ),
    (
        "LIP",
        "local information privacy: one limit on how far a lift is from 1, up and down, in nats",
        r"\bLIP\(",
    ),
    (
        "ALIP",
        "asymmetric local information privacy: a limit in nats for each of up and down",
        r"\bALIP\(",
    ),
    (
        "MaxLift",
        "a limit on the largest lift alone, in nats; also called pointwise maximal leakage",
        r"\bMaxLift\(",
    ),
    (
        "LDP",
        "local differential privacy: how far what is published tells two protected values apart",
        r"\bLDP\(",
    ),
    ("L1Lift", "a limit on the mean distance of the lifts from 1", r"\bL1Lift\("),
    (
        "Chi2Lift",
        "a limit on the root mean square distance of the lifts from 1",
        r"\bChi2Lift\(",
    ),
    ("AlphaLift", "a limit on a power mean of the lifts", r"\bAlphaLift\("),
    ("AtMost", "limits on how likely the named values become", r"\bAtMost\("),
    ("EveryPrior", "a limit for readers who believed something else before", r"\bEveryPrior\("),
    ("BetaLikeness", "a limit on the relative gain of belief", r"\bBetaLikeness\("),
    ("DeltaDisclosure", "a limit on the logarithm of the lift", r"\bDeltaDisclosure\("),
    (
        "TCloseness",
        "a limit on the share of belief that moves from some values to others",
        r"\bTCloseness\(",
    ),
)


def glossary_of(page: str) -> tuple[Number, ...]:
    """Return the terms that an HTML page uses, explained; those of a style sheet are none.

    Examples
    --------
    >>> [term.name for term in glossary_of("<style>S</style><p>a <b>lift</b>, in nats</p>")]
    ['Lift', 'Nats']
    """
    text = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL)
    text = unescape(re.sub(r"<[^>]*>", " ", text))
    return tuple(
        Number(name, f"{capital(words)}.")
        for name, words, pattern in _TERMS
        if re.search(pattern, text)
    )
