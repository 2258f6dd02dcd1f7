"""Criteria as parameters of scikit-learn: cloned, searched, and never changed in place."""

import math
import pickle

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

import lowlift as ll
from lowlift.sklearn import LiftPrivatizer

CRITERIA = [
    ll.LIP(0.5),
    ll.ALIP(0.5, math.inf),
    ll.MaxLift(1),
    ll.LDP(1.0),
    ll.L1Lift(0.5, 0.25),
    ll.Chi2Lift(0.5, 0.25),
    ll.AlphaLift(2.0, 0.5, 0.25),
    ll.BetaLikeness(0.5),
    ll.DeltaDisclosure(0.5, "bits"),
    ll.TCloseness(0.2),
    ll.EveryPrior(0.1, 0.5, 0.25),
]
WARDS = pd.DataFrame({"ward": list("aabbcccc") * 9, "ill": [1, 1, 0, 0, 1, 0, 1, 0] * 9})
TARGET = [0, 0, 1, 1, 1, 0, 1, 1] * 9


def model():
    privatizer = LiftPrivatizer("ill", ll.LIP(0.5), random_state=0, on_violation="ignore")
    return Pipeline(
        [
            ("privatizer", privatizer),
            ("encode", OneHotEncoder(handle_unknown="ignore")),
            ("classify", LogisticRegression()),
        ]
    )


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_a_criterion_is_cloned_by_its_parameters(criterion):
    assert type(criterion)(**criterion.get_params()) == criterion
    assert criterion.get_params(deep=False) == criterion.get_params() == criterion.parameters()
    assert clone(criterion) == criterion
    privatizer = clone(LiftPrivatizer("ill", criterion))
    assert privatizer.criterion == criterion
    assert pickle.loads(pickle.dumps(privatizer)).criterion == criterion


def test_nested_names_are_listed():
    names = model().get_params()
    assert names["privatizer__criterion__epsilon"] == 0.5
    assert LiftPrivatizer().get_params()["criterion"] is None


def test_a_nested_name_makes_a_new_criterion():
    shared = ll.ALIP(0.5, 1.0)
    one, other = LiftPrivatizer("ill", shared), LiftPrivatizer("ill", shared)
    assert one.set_params(criterion__lower=0.25, mechanism="watchdog") is one
    assert one.criterion == ll.ALIP(0.25, 1.0)
    assert one.mechanism == "watchdog"
    assert other.criterion is shared
    assert shared == ll.ALIP(0.5, 1.0)


def test_a_criterion_and_its_parameter_in_one_call():
    privatizer = LiftPrivatizer("ill", ll.LIP(0.5))
    privatizer.set_params(criterion__upper=2.0, criterion=ll.ALIP(0.5, 1.0))
    assert privatizer.criterion == ll.ALIP(0.5, 2.0)


def test_a_criterion_itself_cannot_be_set():
    # scikit-learn drops what set_params returns: the old budget would stay without a word.
    assert not hasattr(ll.LIP(0.5), "set_params")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"criterion__budget": 1.0}, "epsilon"),
        ({"criterion__epsilon": -1.0}, "0 or more"),
        ({"criterion__epsilon__more": 1.0}, "epsilon"),
        ({"budget": 1.0}, "Valid parameters"),
    ],
)
def test_wrong_names_and_values_are_refused_and_nothing_is_changed(params, words):
    privatizer = LiftPrivatizer("ill", ll.LIP(0.5))
    with pytest.raises(ValueError, match=words):
        privatizer.set_params(**params)
    assert privatizer.criterion == ll.LIP(0.5)


def test_a_parameter_of_no_criterion_is_refused():
    with pytest.raises(ll.InvalidInput, match="criterion"):
        LiftPrivatizer("ill").set_params(criterion__epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("privatizer__criterion", [ll.LIP(0.25), ll.LIP(0.5)]),
        ("privatizer__criterion__epsilon", [0.25, 0.5]),
    ],
)
def test_a_grid_search_fits_every_budget(name, values):
    search = GridSearchCV(model(), {name: values}, cv=2, error_score="raise")
    search.fit(WARDS, TARGET)
    assert list(search.cv_results_[f"param_{name}"]) == values
    best = search.best_estimator_["privatizer"]
    assert best.criterion == best.audit_.criterion
    assert best.criterion.epsilon in {0.25, 0.5}


def test_each_budget_of_a_search_is_the_one_that_is_designed_for():
    found = [
        clone(model()).set_params(privatizer__criterion__epsilon=epsilon).fit(WARDS, TARGET)
        for epsilon in (0.1, 0.5)
    ]
    audits = [one["privatizer"].audit_ for one in found]
    assert [audit.criterion for audit in audits] == [ll.LIP(0.1), ll.LIP(0.5)]
    assert all(audit.is_satisfied for audit in audits)
    assert audits[0].nmi < audits[1].nmi
