"""Native and similarity features together, from few labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import likewise as lw


@pytest.fixture(scope="module")
def ring():
    data = lw.datasets.circle(500, random_state=1)
    y = data.y.copy()
    y[80:] = -1
    return data, y


def test_rows_without_a_label_help(ring):
    data, y = ring
    clf = lw.SimilarityFeatureClassifier(random_state=0).fit(data.X, y)
    assert clf.classes_.tolist() == [0, 1]
    assert clf.use_ in ("similarity", "both")
    assert clf.score(data.X[80:], data.y[80:]) > 0.8
    assert clf.cv_scores_["similarity"] > clf.cv_scores_["native"] + 0.1
    assert len(clf.features_.similarity_.S) == 500


def test_where_a_line_is_enough_native_features_are_chosen(rng):
    X = rng.normal(size=(300, 40))
    y = (X[:, 0] > 0).astype(int)
    clf = lw.SimilarityFeatureClassifier(n_landmarks=50, random_state=0).fit(X[:150], y[:150])
    assert clf.use_ != "similarity"
    assert clf.score(X[150:], y[150:]) > 0.9


@pytest.mark.parametrize("use", ["native", "similarity", "both"])
@pytest.mark.parametrize("classifier", [None, LogisticRegression()], ids=["winnow", "logistic"])
def test_csr_files_and_dense_agree(ring, tmp_path, use, classifier):
    data, y = ring
    X = np.hstack([data.X, np.ones((500, 1))])  # a constant column harms nothing
    options = {"use": use, "classifier": classifier, "n_landmarks": 30, "random_state": 0}
    clf = lw.SimilarityFeatureClassifier(**options).fit(X, y)
    assert clf.use_ == use
    assert clf.cv_scores_ == {}
    if classifier is None:
        sparse = lw.SimilarityFeatureClassifier(**options).fit(csr_array(X), y)
        assert_array_equal(sparse.predict(csr_array(X)), clf.predict(X))
        lw.save(clf, tmp_path / "c")
    else:
        lw.SimilarityFeatureClassifier(**options).fit(csr_array(X), y).predict(csr_array(X))
        with pytest.warns(UserWarning, match="the file holds its coefficients instead"):
            lw.save(clf, tmp_path / "c")
    found = lw.load(tmp_path / "c").decision_function(X)
    assert_array_equal(found, clf.decision_function(X))


def test_objects_have_only_similarities():
    words = ["aa", "aaa", "aaaa", "bb", "bbb", "bbbb", "aab", "bba"]
    labels = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    unlike = lw.from_distance(lambda a, b: abs(a.count("b") / len(a) - b.count("b") / len(b)))
    clf = lw.SimilarityFeatureClassifier(
        base=unlike, n_landmarks=8, boolean=0.5, random_state=0
    ).fit(words, labels)
    assert clf.use_ == "similarity"
    assert clf.predict(["aaab", "abbb"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="use is 'both', but X has no native features"):
        clf.set_params(use="both").fit(words, labels)


def test_the_same_seed_gives_the_same_answer(ring):
    data, y = ring
    one, other = (
        lw.SimilarityFeatureClassifier(random_state=3).fit(data.X, y).decision_function(data.X)
        for _ in range(2)
    )
    assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(500, -1), "y has no labels, only -1"),
        (np.full(500, 4), "y has one class, 4; at least two"),
        (np.r_[np.full(9, 4), np.full(491, -1)], r"y has one class, 4.*\(rows with -1 have no lab"),
        (np.zeros(499), "X has 500 rows and y has 499"),
    ],
)
def test_labels_that_teach_nothing_are_refused(ring, labels, message):
    with pytest.raises(ValueError, match=message):
        lw.SimilarityFeatureClassifier().fit(ring[0].X, labels)


def test_signs_are_two_classes_and_a_warning_says_so(ring):
    data, _ = ring
    with pytest.warns(UserWarning, match="y holds only -1 and 1, which are taken as two classes"):
        clf = lw.SimilarityFeatureClassifier(random_state=0).fit(data.X, 2 * data.y - 1)
    assert clf.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"use": "all"}, ValueError, "use must be one of 'auto', 'native'"),
        ({"cv": 1}, ValueError, "cv must be at least 2"),
        ({"classifier": "svm"}, TypeError, "classifier must be an estimator"),
        ({"classifier": RandomForestClassifier(3)}, TypeError, "classifier must be linear"),
        ({"similarity": "rankd"}, ValueError, "Did you mean 'ranked'"),
    ],
)
def test_parameters_are_checked(ring, parameters, error, message):
    data, y = ring
    with pytest.raises(error, match=message):
        lw.SimilarityFeatureClassifier(**parameters).fit(data.X, y)


def test_a_class_with_one_label_leaves_nothing_to_choose(rng):
    X, y = rng.normal(size=(30, 3)), np.r_[0, np.ones(9), -np.ones(20)].astype(int)
    clf = lw.SimilarityFeatureClassifier(n_landmarks=10, random_state=0).fit(X, y)
    assert (clf.use_, clf.cv_scores_) == ("both", {})


@pytest.mark.parametrize("name", ["votes", "ssl_digit1"])
def test_the_choice_is_within_two_points_of_the_best_single_method(data_dir, name):
    if not (data_dir / f"{name}.npz").is_file():
        pytest.skip(f"LIKEWISE_DATA holds no {name}.npz")
    from reproduce import landmarks

    X, y = landmarks._table({"votes": "Congress", "ssl_digit1": "Digit1"}[name])
    found = {method: [] for method in ("Winnow", "NN", "SIM", "chosen on the labels")}
    for seed, split in list(enumerate(landmarks._random_splits(y)))[:4]:
        for method in found:
            predicted = landmarks._PREDICTORS[method](X, y, *split, seed)
            found[method].append(np.mean(predicted == y[split[1]]))
    means = {method: np.mean(values) for method, values in found.items()}
    assert means.pop("chosen on the labels") > max(means.values()) - 0.02
