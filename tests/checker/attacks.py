"""Release files that must not be accepted, each a small change of a true one."""

import copy
import json

import lowlift as ll
from lowlift._release_files import content_of


def saved_of(release):
    """Return what the file of a release holds."""
    return json.loads(json.dumps(content_of(release)))


def release():
    """Return a release by a channel that draws, whose keyed draws are in its file."""
    saved = saved_of(ll.random_response(ll.datasets.titanic(), ll.LIP(0.5), time_limit=5))
    unit = 2**60 // saved["channel"]["denominator"]
    pieces = [[] for _ in saved["joint"]["x_labels"]]
    ends = [0] * len(pieces)
    for y, (members, weights) in enumerate(saved["channel"]["atoms"]):
        for x, weight in zip(members, weights, strict=True):
            pieces[x].append([ends[x], y])
            ends[x] += weight * unit
    return saved | {"draws": {"scope": "", "pieces": pieces}}


def believed():
    """Return a release under bounds on beliefs."""
    joint = ll.datasets.titanic()
    bound = ll.AtMost({joint.s_labels[1]: 0.5}, 3.0).on(joint)
    return saved_of(ll.subset_merging(joint, bound))


def meant():
    """Return a release under a bound on a power mean of the lifts."""
    bound = ll.AlphaLift(2.5, 0.4, 0.3)
    return saved_of(ll.random_response(ll.datasets.titanic(), bound, time_limit=5))


def _put(*path, value):
    def change(saved):
        part = saved
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value(part[path[-1]]) if callable(value) else value

    return change


def _both_laws(saved):
    saved["joint"]["p_sx"] = saved["joint"]["counts"]


def _more_parts(saved):
    saved["channel"]["weights"] = []


def _law(joint):
    """Return counts as if they were probabilities."""
    return {"p_sx" if key == "counts" else key: value for key, value in joint.items()}


def _over(times):
    """Keep every P(y|x), over another denominator."""

    def change(saved):
        channel = saved["channel"]
        channel["denominator"] *= times
        channel["atoms"] = [[xs, [times * w for w in ws]] for xs, ws in channel["atoms"]]
        saved.pop("draws", None)

    return change


def _moved_draw(saved):
    """Draw another output for a part of the numbers of a symbol that has two."""
    pieces = next(part for part in saved["draws"]["pieces"] if len(part) > 1)
    pieces[1][0] -= 1


def _lone_output(saved):
    saved["channel"]["atoms"].append([[], []])
    saved["channel"]["y_labels"].append("never")


def _inner(saved):
    saved["criterion"] = {"name": "LIP", "epsilon": 9.0, "criterion": {"name": "LIP", "epsilon": 9}}


def _of_version_1(saved):
    saved["version"], saved["table"] = 1, {"encoding": "values"}


_COUNT, _WEIGHT = ("joint", "counts", 0, 0), ("channel", "atoms", 0, 1, 0)
CHANGES = {
    "version true": _put("version", value=True),
    "version 1.0": _put("version", value=1.0),
    "version as text": _put("version", value="2"),
    "version 3": _put("version", value=3),
    "version 1 of values": _of_version_1,
    "another format": _put("format", value="lowlift-codebook"),
    "name in other case": _put("criterion", "name", value="lip"),
    "no name": _put("criterion", "name", value=None),
    "budget true": _put("criterion", "epsilon", value=True),
    "budget as text": _put("criterion", "epsilon", value="0.5"),
    "budget below 0": _put("criterion", "epsilon", value=-1),
    "budget of another": _put("criterion", value={"name": "LIP", "epsilon": 9.0, "upper": 9.0}),
    "budget beyond floats": _put("criterion", "epsilon", value=10**400),
    "budget infinite": _put("criterion", "epsilon", value=float("inf")),
    "budget no number": _put("criterion", "epsilon", value=float("nan")),
    "a criterion inside": _inner,
    "alpha below 1": _put(
        "criterion", value={"name": "AlphaLift", "alpha": 0.5, "lower": 9.0, "upper": 9.0}
    ),
    "denominator 3": _over(3),
    "denominator 2**49 or more": _over(2**49),
    "denominator true": _put("channel", "denominator", value=True),
    "denominator 0": _put("channel", "denominator", value=0),
    "weight true": _put(*_WEIGHT, value=True),
    "weight of a fraction": _put(*_WEIGHT, value=float),
    "weight below 0": _put(*_WEIGHT, value=lambda weight: -weight),
    "member -1": _put("channel", "atoms", 0, 0, 0, value=-1),
    "member true": _put("channel", "atoms", 0, 0, 0, value=True),
    "member beyond": _put("channel", "atoms", 0, 0, 0, value=999),
    "an output that never occurs": _lone_output,
    "an output less": _put("channel", "atoms", value=lambda atoms: atoms[:-1]),
    "outputs of one label": _put("channel", "y_labels", value=lambda y: [y[0]] * len(y)),
    "a part more": _more_parts,
    "no word of a table": lambda saved: saved.pop("table"),
    "no verdict": lambda saved: saved["audit"].pop("is_satisfied"),
    "symbols of one label": _put("joint", "x_labels", value=lambda x: [x[0]] * len(x)),
    "values of S of one label": _put("joint", "s_labels", value=["a", "a"]),
    "a label too many": _put("joint", "s_labels", value=["a", "b", "c"]),
    "count true": _put(*_COUNT, value=True),
    "count of a fraction": _put(*_COUNT, value=0.5),
    "count below 0": _put(*_COUNT, value=-1),
    "counts and a law": _both_laws,
    "law above 1": _put("joint", value=_law),
    "no counts": _put("joint", "counts", value=lambda _: []),
    "draws of other weights": _moved_draw,
    "draws of fewer symbols": _put("draws", "pieces", value=lambda pieces: pieces[:-1]),
    "draws of a piece of three": _put("draws", "pieces", 0, 0, value=lambda piece: [*piece, 0]),
    "draws that do not ascend": _put("draws", "pieces", 0, value=[[0, 0], [0, 0]]),
    "satisfied as 1": _put("audit", "is_satisfied", value=1),
    "not satisfied": _put("audit", "is_satisfied", value=False),
}
OF_BELIEFS = {
    "thirds of an output": _over(3),
    "factor below 1": _put("criterion", "factor", value=0.5),
    "factor 0": _put("criterion", "factor", value=0),
    "factor just above 1": _put("criterion", "factor", value=1.0000000000000002),
    "share true": _put("criterion", "share", value=True),
    "half the share": _put("criterion", "share", value=0.5),
    "no share": _put("criterion", "share", value=0),
    "share of the least": _put("criterion", "share", value=5e-324),
    "share infinite": _put("criterion", "share", value="inf"),
    "share below 0": _put("criterion", "share", value=-1e-300),
    "share as text": _put("criterion", "share", value="1.0"),
    "share of nothing": _put("criterion", "share", value=None),
    "share in a list": _put("criterion", "share", value=[1.0]),
    "share no number": _put("criterion", "share", value=float("nan")),
    "share beyond floats": _put("criterion", "share", value=10**400),
    "share left out": _put(
        "criterion", value=lambda saved: {k: v for k, v in saved.items() if k != "share"}
    ),
    "no belief": _put("criterion", "beliefs", value=lambda _: []),
    "belief above 1": _put("criterion", "beliefs", 0, "at_most", value=1.5),
    "belief true": _put("criterion", "beliefs", 0, "at_most", value=True),
    "belief twice": _put("criterion", "beliefs", value=lambda beliefs: beliefs * 2),
    "belief of nobody": _put("criterion", "beliefs", 0, "value", value="nobody"),
}


OF_MEANS = {
    "alpha just below 1": _put("criterion", "alpha", value=0.9999999999999999),
    "alpha 0": _put("criterion", "alpha", value=0),
    "alpha below 0": _put("criterion", "alpha", value=-2.5),
    "alpha true": _put("criterion", "alpha", value=True),
    "alpha as text": _put("criterion", "alpha", value="2.5"),
    "alpha of nothing": _put("criterion", "alpha", value=None),
    "alpha no number": _put("criterion", "alpha", value=float("nan")),
    "alpha beyond floats": _put("criterion", "alpha", value=10**400),
    "alpha infinite": _put("criterion", "alpha", value="inf"),
    "alpha as infinity": _put("criterion", "alpha", value=float("inf")),
    "alpha above": _put("criterion", "alpha", value=2.7),
    "alpha far above": _put("criterion", "alpha", value=1e308),
    "alpha and a share": _put("criterion", "share", value=1.0),
    "a budget below": _put("criterion", "lower", value=0.39),
    "a budget of 0": _put("criterion", "upper", value=0.0),
    "a budget no number": _put("criterion", "upper", value=float("nan")),
}


#: Criteria of other fields that the release keeps, and by criterion what no bound may be.
NAMED = {
    "BetaLikeness": {"beta": 9},
    "TCloseness": {"t": 1},
    "DeltaDisclosure": {"delta": 9.5, "unit": "bits"},
    "EveryPrior": {"at_least": 0.5, "lower": 9.5, "upper": "inf"},
}
_WRONG = {
    "BetaLikeness": {"beta": (-0.1, True, None, "1", 10**400)},
    "TCloseness": {"t": (-5e-324, 1.0000000000000002, 2, "inf", False)},
    "DeltaDisclosure": {"delta": (0, -0.0, 0.0, -1, "9"), "unit": ("dits", "", None, ["bits"], 2)},
    "EveryPrior": {"at_least": (0.5000000000000001, 1, -1, "inf", True), "lower": (-1, None)},
}


def named(name, **values):
    """Return the change that puts such a criterion with other values."""
    return _put("criterion", value={"name": name} | NAMED[name] | values)


OF_NAMED = {
    f"{name} with {key} {str(value)[:20]!r}": named(name, **{key: value})
    for name, wrong in _WRONG.items()
    for key, values in wrong.items()
    for value in values
}
OF_NAMED |= {f"{name} with a budget more": named(name, epsilon=9.5) for name in NAMED}
OF_NAMED |= {f"{name} without values": _put("criterion", value={"name": name}) for name in NAMED}


def _after(text, found, more):
    place = text.index(found) + len(found)
    return text[:place] + more + text[place:]


#: Changes of the text, which a tree does not have.
OF_TEXTS = {
    "a name twice": lambda text: _after(text, '"criterion": {', '"epsilon": 0.1, '),
    "a byte order mark": lambda text: "\ufeff" + text,
    "NaN in a label": lambda text: _after(text, '"y_labels": [', "NaN, "),
    "digits of another script": lambda text: text.replace('"version": 2', '"version": \u0662'),
    "two values": lambda text: text + "{}",
    "nested too deeply": lambda text: _after(text, '"criterion": ', "[" * 10**5),
}


def texts():
    """Return the texts of the files by the name of the change."""
    found = {}
    made = (release, CHANGES | OF_NAMED), (believed, OF_BELIEFS), (meant, OF_MEANS)
    for make, changes in made:
        true = make()
        for name, change in changes.items():
            saved = copy.deepcopy(true)
            change(saved)
            found[name] = json.dumps(saved)
    true = json.dumps(release())
    return found | {name: change(true) for name, change in OF_TEXTS.items()}
