"""Named distances against their formulas, and the interface that all of them share."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import distances as oracle

import likewise as lw
from likewise import kernels
from likewise._threads import limit_threads
from likewise.similarities import distances
from likewise.similarities.distances import _images

words = st.lists(st.text("abc", max_size=6), min_size=1, max_size=4)
bases = st.lists(st.text("acgt", min_size=1, max_size=8), min_size=1, max_size=3)
values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
series = st.lists(st.lists(values, min_size=1, max_size=6), min_size=1, max_size=3)


def pairwise(source, A, B=None):
    return between(lw.as_similarity(source, is_distance=True), A, B)


def between(distance, A, B=None):
    if B is None:
        B = np.arange(np.shape(A)[-1] or 2) if distance.takes == "matrix" else A
    return distance.closer(A, B) if isinstance(distance, lw.Ranked) else distance.distance(A, B)


def by_hand(function, A, B):
    return [[function(a, b) for b in B] for a in A]


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "chebyshev"])
def test_rows_are_compared_as_scipy_does(metric, rng):
    from scipy.spatial import distance

    A, B = rng.normal(size=(300, 3)), rng.normal(size=(520, 3))  # several blocks
    expected = by_hand(getattr(distance, metric), A[::60], B[::40])
    assert_allclose(pairwise(metric, A, B)[::60, ::40], expected, rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
def test_sparse_rows_are_compared_as_dense_ones(metric, rng):
    A = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.7) + [0, 0, 0, 1]
    assert_allclose(pairwise(metric, csr_array(A)), pairwise(metric, A), atol=1e-7)


@given(A=words, B=words)
def test_edits_are_counted(A, B):
    assert_array_equal(pairwise("levenshtein", A, B), by_hand(oracle.levenshtein, A, B))
    assert_array_equal(pairwise("lcs", A, B), by_hand(oracle.lcs, A, B))


def test_jaro_and_winkler_of_their_own_example():
    assert_allclose(pairwise("jaro_winkler", ["MARTHA"], ["MARHTA"]), [[1 - 0.9611]], atol=1e-4)


@given(A=series, B=series)
def test_series_are_warped(A, B):
    assert_allclose(pairwise("dtw", A, B), by_hand(oracle.dtw, A, B), atol=1e-12)


def test_series_of_several_channels_are_warped(rng):
    A, B = ([rng.normal(size=(n, 2)) for n in lengths] for lengths in ([3, 5], [4, 1, 6]))
    assert_allclose(pairwise("dtw", A, B), by_hand(oracle.dtw, A, B), rtol=1e-12)


@given(A=series, B=series, window=st.sampled_from([0, 1, 3, 0.0, 0.2, 0.34, 0.5, 1.0]))
def test_series_are_warped_within_a_window(A, B, window):
    found = between(distances.SeriesDistance(window), A, B)
    assert_allclose(found, by_hand(lambda a, b: oracle.dtw(a, b, window), A, B), atol=1e-12)
    assert_array_equal(between(distances.SeriesDistance(window), B, A), found.T)


def test_a_window_as_wide_as_the_series_allows_any_shift(rng):
    A = [rng.normal(size=n) for n in (30, 7, 100)]
    for window in (100, 1.0):
        assert_array_equal(between(distances.SeriesDistance(window), A), pairwise("dtw", A))


def test_a_share_of_the_longer_series_is_a_number_of_frames(rng):
    A, B = [rng.normal(size=100)], [rng.normal(size=90)]
    share, frames = distances.SeriesDistance(0.29), distances.SeriesDistance(29)
    assert_array_equal(between(share, A, B), between(frames, A, B))
    assert between(frames, A, B) < between(distances.SeriesDistance(28), A, B) + 1e-12
    assert between(distances.SeriesDistance(0), A, B) > pairwise("dtw", A, B)


@pytest.mark.parametrize(
    ("window", "error", "message"),
    [
        (-1, ValueError, "window must be at least 0, but -1 was given"),
        (1.5, ValueError, "window must be at most 1, but 1.5 was given"),
        (np.nan, ValueError, "window must be finite"),
        ("0.1", TypeError, "window must be a whole number, but '0.1' was given"),
    ],
)
def test_a_window_is_a_share_or_a_number_of_frames(window, error, message):
    with pytest.raises(error, match=message):
        distances.SeriesDistance(window)


@given(A=bases, B=bases, mismatch=st.sampled_from([0.5, 3.0]), gap=st.sampled_from([0.75, 2.0]))
def test_sequences_are_aligned(A, B, mismatch, gap):
    found = between(distances.AlignmentDistance(2.0, mismatch, gap), A, B)
    expected = by_hand(lambda a, b: oracle.smith_waterman(a, b, 2.0, mismatch, gap), A, B)
    assert_allclose(found, expected, atol=1e-12)


def test_earth_is_moved_along_a_line_and_in_a_plane(rng):
    A, B = rng.random((3, 5)), rng.random((4, 5))
    assert_allclose(pairwise("emd", A, B), by_hand(oracle.emd_on_a_line, A, B), atol=1e-9)
    corner = np.zeros((2, 4, 4))
    corner[0, 0, 0] = corner[1, 3, 3] = 7.0
    assert_allclose(pairwise("emd", corner), [[0, np.sqrt(18)], [np.sqrt(18), 0]], atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_images_are_compared_by_near_pixels(shape, rng):
    A, B = rng.random((2, int(np.prod(shape)))), rng.random((3, int(np.prod(shape))))
    expected = by_hand(lambda a, b: oracle.image(a, b, shape, 0.8), A, B)
    assert_allclose(between(distances.ImageDistance(shape, 0.8), A, B), expected, rtol=1e-9)


@given(
    images=strategies.tables(st.just(3), st.integers(1, 9), (0.0, 0.25, 0.5, 1.0, 3.0, -1.0)),
    peak=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_fuzzy_metric_is_the_sugeno_integral(images, peak):
    found = between(distances.FuzzyImageDistance(peak), images)
    expected = by_hand(lambda a, b: oracle.fuzzy_image(a, b, peak), images, images)
    assert_array_equal(found, expected)
    assert_array_equal(found, found.T)
    assert found[0, 2] <= found[0, 1] + found[1, 2] + 1e-12


def test_the_fuzzy_metric_of_random_images_is_the_sugeno_integral(rng):
    A, B = rng.random((5, 40)), rng.random((6, 40)) ** 3
    expected = by_hand(lambda a, b: oracle.fuzzy_image(a, b, 1.0), A, B)
    assert_array_equal(pairwise("fuzzy_image", A, B), expected)
    few, little = A.copy(), np.clip(A + 0.02, 0, 2)
    few[:, 0] += 5
    assert_allclose(np.diag(pairwise("fuzzy_image", A, few)), 1 / 40)
    assert_allclose(np.diag(pairwise("fuzzy_image", A, little)), 0.02)


@pytest.mark.parametrize("stiffness", [1e-6, 0.03, 2.0])
def test_tangent_planes_are_as_far_apart_as_least_squares_says(stiffness, rng):
    d = distances.TangentDistance((5, 6), 0.7, stiffness)
    A, B = rng.random((3, 30)), rng.random((4, 30))
    expected = [
        [oracle.tangent(a[0], b[0], a[1:], b[1:], stiffness) for b in d.prepare(B)]
        for a in d.prepare(A)
    ]
    assert_allclose(between(d, A, B), expected, rtol=1e-6, atol=1e-9)


def test_the_kernel_takes_any_number_of_tangents(rng):
    left, right = rng.normal(size=(2, 4, 9)), rng.normal(size=(3, 4, 9))
    for side in (left, right):
        side[:, 1:] = [np.linalg.qr(rows[1:].T)[0].T for rows in side]
    products = left.reshape(8, 9) @ right.reshape(12, 9).T
    own = [np.einsum("ikf,if->ik", side[:, 1:], side[:, 0]) for side in (left, right)]
    out = np.empty((2, 3))
    kernels.tangent_distances(products, left[:, 0], right[:, 0], *own, 0.1, out)
    expected = [[oracle.tangent(a[0], b[0], a[1:], b[1:], 0.1) for b in right] for a in left]
    assert_allclose(out, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["shift", "scale", "turn", "stretch", "diagonal"])
def test_the_tangent_distance_hardly_sees_a_small_deformation(kind, rng):
    image = gaussian_filter(np.pad(rng.random((6, 6)), 5), 1.2)
    amount = 0.2 if kind == "shift" else 0.04
    pair = np.stack([image, oracle.deform(image, kind, amount)]).reshape(2, -1)
    seen = between(distances.TangentDistance(stiffness=1e-6), pair)[0, 1]
    assert seen < 0.12 * between(distances.VectorDistance(), pair)[0, 1]


def test_the_tangent_distance_is_zero_between_equals_and_never_above_euclid(rng):
    images = np.vstack([rng.random((4, 25)), np.zeros((1, 25)), np.ones((1, 25))])
    d = distances.TangentDistance(smoothing=0)
    found = between(d, images)
    assert_array_equal(np.diag(found), 0)
    assert_allclose(found, found.T, atol=1e-7)
    assert (found <= between(distances.VectorDistance(), images) + 1e-9).all()


def test_tangents_that_are_missing_are_zero():
    basis = _images._orthonormal(np.array([[[1.0, 0], [2.0, 0]], [[0.0, 0], [0.0, 0]]]))
    assert_allclose((basis**2).sum(axis=(1, 2)), [1, 0])


@pytest.mark.parametrize(
    "name", ["euclidean", "tangent", "image", "fuzzy_image", "levenshtein", "dtw"]
)
def test_the_number_of_threads_changes_nothing(name, rng, two_threads):
    X = ["".join(rng.choice(list("abc"), 5)) for _ in range(300)]
    if name != "levenshtein":
        X = rng.random((300, 9))
    with limit_threads(1):
        alone = pairwise(name, X)
    with limit_threads(2):
        assert_array_equal(pairwise(name, X), alone)


def test_a_function_is_called_on_query_and_item_in_one_thread(two_threads):
    seen = set()

    def gap(a, b):
        seen.add(threading.get_ident())
        return max(0, a - b)

    found = pairwise(gap, list(range(300)), [10, 20])
    assert_array_equal(found, [[max(0, a - 10), max(0, a - 20)] for a in range(300)])
    assert seen == {threading.get_ident()}


def test_a_matrix_is_read_only_where_it_is_asked():
    matrix = np.array([[1.0, np.nan, 3.0], [4.0, -5.0, 6.0]])
    assert_array_equal(pairwise("precomputed", matrix, [2, 0]), [[3, 1], [6, 4]])
    with pytest.raises(ValueError, match="gave nan on query 0 and item 1"):
        pairwise("precomputed", matrix)


@pytest.mark.parametrize("levels", [2, 5])
def test_levels_are_as_full_as_each_other_over_the_training_rows(levels, rng):
    X = rng.normal(size=(40, 2))
    d = distances.quantize("euclidean", levels).fitted(X)
    values = pairwise("euclidean", X)[~np.eye(40, dtype=bool)]
    found = d.distance(X, X)
    assert set(np.unique(found)) <= set(range(levels))
    of_others = found[~np.eye(40, dtype=bool)]
    assert_allclose(np.bincount(of_others.astype(int)) / len(values), 1 / levels, atol=2 / 1560)
    for level in range(levels - 1):
        assert values[of_others == level].max() < values[of_others > level].min()


def test_ranks_are_shares_of_the_sample_that_is_nearer(rng):
    X, Q = rng.integers(0, 4, size=(30, 2)) / 1.0, rng.integers(0, 4, size=(5, 2)) / 1.0
    d = distances.ranked("cityblock").fitted(X)
    base = pairwise("cityblock", Q, X)
    assert_allclose(between(d, Q, X), [oracle.ranks(row, row) for row in base])


def test_ranks_do_not_mind_another_increasing_transform_for_each_row(rng):
    D = rng.random((12, 12))
    bent = np.exp(D * rng.uniform(0.5, 2, size=(12, 1))) - 1
    d = distances.ranked("precomputed")
    assert_allclose(between(d.fitted(D), D), between(d.fitted(bent), bent))


def test_wrappers_wrap_functions_too():
    lengths = [3, 9, 1, 4]
    d = distances.ranked(lambda a, b: abs(a - b)).fitted(lengths)
    assert_allclose(between(d, [3])[0], 0.125)
    levels = distances.quantize(lambda a, b: abs(a - b), [2.0])
    assert levels.distance([1], [2, 8]).tolist() == [[0, 1]]


def test_wrappers_wrap_similarities_without_a_distance(rng):
    X = rng.normal(size=(30, 3))
    product = lw.Bilinear(1.0)
    levels = distances.quantize(product, 3).fitted(X)
    found = levels.distance(X, X)
    scores = product.score(X, X)
    assert set(np.unique(found)) == {0, 1, 2}
    assert scores[found == 2].max() < scores[found == 1].min()
    shares = distances.ranked(product).fitted(X).closer(X, X)
    assert_allclose(shares, [oracle.ranks(row, row) for row in -scores])


@pytest.mark.parametrize(
    ("name", "X", "kind", "message"),
    [
        ("levenshtein", ["a", 5], TypeError, r"compares strings, but entry 1 of Q is 5 \(int\)"),
        ("smith_waterman", ["ac", ""], ValueError, "but entry 1 of Q is empty"),
        ("dtw", [[1.0], "x"], TypeError, "series of numbers, but entry 1 of Q is a str"),
        ("dtw", [[1.0], []], ValueError, r"entry 1 of Q has shape \(0,\)"),
        ("dtw", [[1.0], [np.nan]], ValueError, "entry 1 of Q holds NaN"),
        ("dtw", [np.ones((3, 2)), np.ones(3)], ValueError, r"entry 1 of Q has shape \(3,\)"),
        ("emd", [[1.0, 2.0], [1.0]], TypeError, "histograms of the same shape"),
        ("emd", [[1.0, 2.0], [-1.0, 2.0]], ValueError, "but those of entry 1 of Q are not"),
        ("emd", [1.0, 2.0], ValueError, "are 0-D"),
        ("tangent", np.ones((2, 5)), ValueError, "5 columns, which are not the pixels of a square"),
        ("image", csr_array(np.eye(4)), TypeError, "Q is sparse, but images are dense"),
        ("fuzzy_image", csr_array(np.eye(4)), TypeError, "Q is sparse, but images are dense"),
        ("canberra", csr_array(np.eye(4)), TypeError, "'euclidean', 'cityblock', 'cosine' take"),
        ("euclidean", ["a", "b"], TypeError, "Q must be rows of numbers"),
        ("cosine", np.eye(3)[:, :2], ValueError, "gave nan on query 0 and item 2"),
        ("precomputed", csr_array(np.eye(4)), TypeError, "must be dense"),
        ("precomputed", [1.0, 2.0], ValueError, "Q must be 2-D, a row for each sample, but 1-D"),
        (lambda a, b: a / b, [1, 0], ValueError, "failed on query 0 and item 1: ZeroDivisionError"),
        (lambda a, b: "far", [1, 0], TypeError, "must return a number, but gave 'far' on query 0"),
        (
            lambda a, b: a - b,
            [1, 2],
            ValueError,
            "finite and not negative, but .* gave -1.0 on query 0 and item 1",
        ),
        (
            lambda a, b: np.inf,
            [1, 2],
            ValueError,
            "finite number, but gave inf on query 0 and item 0",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_place(name, X, kind, message):
    with pytest.raises(kind, match=message):
        pairwise(name, X)


def test_a_function_that_raises_keeps_its_cause():
    with pytest.raises(ValueError, match="ZeroDivisionError") as caught:
        pairwise(lambda a, b: a / b, [1], [0])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: distances.quantize("euclidean", 1), ValueError, "levels must be at least 2"),
        (lambda: distances.quantize("euclidean", 2.5), TypeError, "levels must be a whole number"),
        (lambda: distances.quantize("euclidean", [2.0, 1.0]), ValueError, "ascending bounds"),
        (lambda: between(distances.quantize("euclidean", 3), [[1.0]]), ValueError, "fitted"),
        (lambda: between(distances.ranked("euclidean"), [[1.0]]), ValueError, "fitted"),
        (lambda: distances.VectorDistance("nearness"), ValueError, "metric must be one of"),
        (lambda: distances.TangentDistance(stiffness=0), ValueError, "stiffness must be finite"),
        (lambda: distances.QuantizedDistance("euclidean", 2), TypeError, "must be a Similarity"),
    ],
)
def test_invalid_distances_are_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("levenshtein", "rapidfuzz", "strings"),
        ("smith_waterman", "Bio", "sequences"),
        ("emd", "ot", "transport"),
    ],
)
def test_a_missing_provider_is_named_with_its_extra(name, module, extra, monkeypatch):
    import sys

    for loaded in [m for m in sys.modules if m.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(lw.exceptions.MissingExtraError, match=rf"pip install '\S+\[{extra}\]'"):
        pairwise(name, ["ac"])


@pytest.mark.parametrize("name", [n for n in distances.names() if "precomputed" not in n])
def test_each_name_is_also_a_similarity(name, rng):
    text = name in ("levenshtein", "jaro_winkler", "lcs", "smith_waterman")
    X = ["ac", "gt", "acgt"] if text else 0.1 + 0.9 * rng.random((3, 4))
    s = lw.as_similarity(name)
    assert s.neighbors(X, X, 2).ids.shape == (3, 2)
    if name not in ("euclidean", "cosine", "dice", "jaccard"):  # similarities of their own
        assert_array_equal(s.score(X, X), -pairwise(name, X))
        assert_array_equal(s.score_pairs(X, X), np.diagonal(s.score(X, X)))


@pytest.mark.parametrize(
    "make",
    [
        lambda X: distances.VectorDistance("cityblock"),
        lambda X: distances.TangentDistance((3, 3), 0.6, 0.1),
        lambda X: distances.ImageDistance(None, 2.0),
        lambda X: distances.FuzzyImageDistance(0.5),
        lambda X: distances.quantize("euclidean", 3).fitted(X),
        lambda X: distances.ranked(distances.quantize("cosine", 4)).fitted(X),
    ],
)
def test_a_file_gives_a_distance_back(make, rng, tmp_path):
    X = rng.random((12, 9))
    similarity = make(X)
    lw.save(similarity, tmp_path / "d")
    assert_array_equal(lw.load(tmp_path / "d").score(X, X), similarity.score(X, X))


@pytest.mark.parametrize("window", [None, 2, 0.1])
def test_a_file_gives_the_window_back(window, tmp_path):
    lw.save(distances.SeriesDistance(window), tmp_path / "d")
    assert lw.load(tmp_path / "d").window == window


def test_strings_and_series_to_rank_among_are_stored(rng, tmp_path):
    texts, waves = ["ab", "b", "abc"], [rng.normal(size=n) for n in (3, 5, 4)]
    for name, X in (("levenshtein", texts), ("dtw", waves)):
        similarity = distances.ranked(name).fitted(X)
        lw.save(similarity, tmp_path / "d")
        assert_array_equal(lw.load(tmp_path / "d").score(X, X), similarity.score(X, X))


@pytest.mark.parametrize("wrap", [distances.ranked, lambda d: distances.quantize(d, [1.0])])
def test_a_wrapped_function_cannot_be_stored(wrap, tmp_path):
    with pytest.raises(TypeError, match=r"similarity is a .*Function, which cannot be stored"):
        lw.save(wrap(max), tmp_path / "d")
