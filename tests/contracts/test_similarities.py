"""Every similarity keeps every promise."""

import pytest
from tests.contracts.cases import CASES
from tests.contracts.checks import SIMILARITY


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", SIMILARITY, ids=lambda check: check.__name__)
def test_a_similarity_keeps_its_promise(case, check):
    check(case)
