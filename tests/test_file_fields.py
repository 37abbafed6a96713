"""Fitted attributes of a file: a wrong value is refused with what was given and is needed."""

import numpy as np
import pytest

from likewise._files import fields

FLOATS = fields.Array(("float64",), "rows", 2, minimum=0)
SHARES = fields.Array(("float64",), "rows", minimum=0, maximum=1)
NAMED = fields.DictOf(fields.Text(), minimum=1)
KEYED = fields.DictOf(fields.Text(), keys=lambda sizes: ["b", "c"])


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        (FLOATS, [[1.0, 2.0]], TypeError, "a_ must be an array of float64, not a list."),
        (FLOATS, np.ones((3, 2), int), TypeError, "array of float64, not a 2-D array of int64."),
        (FLOATS, np.ones(3), ValueError, "a_ has 1 dimensions, but 2 are needed."),
        (FLOATS, np.full((3, 2), np.nan), ValueError, "a_ holds NaN or infinity; it must be"),
        (FLOATS, np.full((3, 2), -1.0), ValueError, "a_ holds -1.0, but must be at least 0."),
        (SHARES, np.full(3, 1.5), ValueError, "a_ holds 1.5, but must be at most 1."),
        (FLOATS, np.ones((3, 4)), ValueError, "a_ has a length of 4, but 2 is needed."),
        (fields.Labels("classes"), np.ones((2, 2)), TypeError, "classes, not a 2-D array of float"),
        (
            fields.Labels("classes"),
            "ab",
            TypeError,
            "a_ must be a 1-D array of classes, not a str.",
        ),
        (fields.Labels("classes"), np.array([1]), ValueError, "2 or more classes in order, but h"),
        (fields.Number(), 1.5, TypeError, "a_ must be a whole number, not 1.5."),
        (fields.Number(whole=False), "x", TypeError, "a_ must be a number, not 'x'."),
        (fields.Number(whole=False), np.inf, ValueError, "a_ is inf, but must be finite."),
        (fields.Number(), -1, ValueError, "a_ is -1, but must be at least 0."),
        (fields.Number(maximum="known"), 4, ValueError, "a_ is 4, but there are 3 known."),
        (fields.Number(maximum=1), 2, ValueError, "a_ is 2, but must be at most 1."),
        (fields.Choice("a", "b"), "c", ValueError, "a_ must be one of 'a', 'b', not 'c'."),
        (fields.Instance((int, float)), "c", TypeError, "a_ must be a int or float, not a str."),
        (fields.ListOf(fields.Text()), {}, TypeError, "a_ must be a list, not a dict."),
        (fields.ListOf(fields.Text()), [3], TypeError, r"a_\[0\] must be text, not a int."),
        (fields.Parts(b=fields.Text()), [], TypeError, "a_ must be an object, not a list."),
        (fields.DictOf(fields.Text()), [], TypeError, "a_ must be an object, not a list."),
        (NAMED, {}, ValueError, "a_ has 0 entries, but needs 1 or more."),
        (KEYED, {"b": "x"}, ValueError, "a_ must have b, c, but has b."),
        (KEYED, {"c": "x", "b": "x"}, ValueError, "a_ must have b, c, but has c, b."),
        (
            fields.Items("similarity_", "n"),
            [],
            ValueError,
            "a_ needs a similarity, but similarity_",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_needed(field, value, error, message):
    sizes = fields.Sizes(None, {})
    sizes.bind("known", 3, "known_")
    with pytest.raises(error, match=message):
        field.check(value, "a_", sizes)
