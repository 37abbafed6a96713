"""No request makes the server fail, whether or not the schema allows it."""

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.running import write_digits

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def api(tmp_path_factory, zygote):
    model, items = write_digits(tmp_path_factory.mktemp("schema"), 30)
    with zygote.server(model, items, label="digit", feedback_rate=1e9) as server:
        yield schemathesis.openapi.from_url(f"{server.address}/openapi.json")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_makes_the_server_fail(api, mode):
    n_tried = 0
    for found in api.get_all_operations():
        operation = found.ok()

        @settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            nonlocal n_tried
            n_tried += 1
            case.call_and_validate(checks=CHECKS)

        # An operation that takes nothing has no request that it would not take.
        with suppress(Unsatisfiable):
            ask()
    assert n_tried > 60
