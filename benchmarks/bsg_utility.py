"""How useful synthetic records are: distances of attributes and of pairs, classifiers, and the game of telling apart.

Classifiers are scikit-learn's; the paper names its kinds and not their settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bsg_records import INCOME, SIZES, Codes

Labels = npt.NDArray[np.int64]


class Classifier(Protocol):
    """The part of scikit-learn's classifiers that is used here."""

    def fit(self, features: object, labels: Labels) -> object:
        """Learn."""
        ...

    def predict(self, features: object) -> Labels:
        """Predict."""
        ...


CLASSIFIERS: Final[Mapping[str, Callable[[], Classifier]]] = {
    "Tree": lambda: DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
    "RF": lambda: RandomForestClassifier(n_estimators=100, min_samples_leaf=2, random_state=0),
    "Ada": lambda: AdaBoostClassifier(n_estimators=100, random_state=0),
    "LR": lambda: LogisticRegression(max_iter=1000),
    "SVM": lambda: LinearSVC(),
}
_LINEAR: Final = ("LR", "SVM")


@dataclass(frozen=True, slots=True)
class Predictions:
    """What classifiers that were trained on some records predict for the test records, by classifier."""

    by_classifier: Mapping[str, Labels]

    def accuracy(self, name: str, test: Codes) -> float:
        """Share of test records whose income is predicted right."""
        return float(np.mean(self.by_classifier[name] == test[:, INCOME]))

    def agreement(self, name: str, other: Predictions) -> float:
        """Share of test records for which two classifiers predict the same."""
        return float(np.mean(self.by_classifier[name] == other.by_classifier[name]))


def train(records: Codes, test: Codes) -> Predictions:
    """Train every classifier to predict income, and predict it for the test records."""
    labels = records[:, INCOME].astype(np.int64)
    found = {}
    for name, make in CLASSIFIERS.items():
        if np.unique(labels).size == 1:
            found[name] = np.full(test.shape[0], labels[0])
            continue
        classifier = make()
        linear = name in _LINEAR
        classifier.fit(_features(np.delete(records, INCOME, axis=1), linear), labels)
        found[name] = classifier.predict(_features(np.delete(test, INCOME, axis=1), linear))
    return Predictions(found)


def _features(codes: Codes, linear: bool) -> object:
    """Codes themselves for trees; an indicator of every value, each record with norm 1, for linear classifiers."""
    if not linear:
        return codes
    sizes = np.delete(np.array(SIZES), INCOME)
    encoder = OneHotEncoder(categories=[np.arange(size) for size in sizes.tolist()])
    return encoder.fit_transform(codes) / np.sqrt(codes.shape[1])


def told_apart(real: Codes, synthetic: Codes) -> dict[str, float]:
    """Share of records that a forest and a tree tell apart rightly; half of each kind train, half test."""
    n = min(len(real), len(synthetic))
    half = n // 2
    records = np.concatenate((real[:half], synthetic[:half]))
    labels = np.repeat(np.array([0, 1]), half)
    others = np.concatenate((real[half:n], synthetic[half:n]))
    truth = np.repeat(np.array([0, 1]), n - half)
    found = {}
    for name in ("RF", "Tree"):
        classifier = CLASSIFIERS[name]()
        classifier.fit(records, labels)
        found[name] = float(np.mean(classifier.predict(others) == truth))
    return found


def distance(one: Codes, other: Codes, n_together: int) -> float:
    """Mean total variation distance over all attributes, or over all pairs of them."""
    found = []
    for subset in combinations(range(len(SIZES)), n_together):
        sizes = tuple(SIZES[column] for column in subset)
        shares = [
            np.bincount(np.ravel_multi_index(tuple(codes[:, subset].T), sizes), minlength=int(np.prod(sizes)))
            / len(codes)
            for codes in (one, other)
        ]
        found.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return float(np.mean(found))
