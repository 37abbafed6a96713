"""Everything works under a prefix, whether the proxy removes it or not."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.server.running import InProcess, Running, web_files, write_digits

from likewise.server import Client, Settings, create_app

TOKEN = "a-token-of-sixteen"
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_digits(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="module")
def ask(written):
    app = create_app(Settings(*written, token=TOKEN, root_path="/sim"))
    yield InProcess(app)
    app.state.likewise.service.stop()


@pytest.mark.parametrize("prefix", ["", "/sim"])
@pytest.mark.parametrize("path", ["/", "/docs", "/web/app.js", "/web/pages/teach.js", "/healthz"])
def test_pages_are_under_the_prefix_and_without_it(ask, prefix, path):
    assert ask.get(prefix + path).status_code == 200


def test_the_prefix_alone_leads_to_the_page(ask):
    moved = ask.get("/sim")
    assert (moved.status_code, moved.headers["location"]) == (308, "/sim/")
    assert ask.get("/simulated").status_code == 404


@pytest.mark.parametrize("path", ["/sim/v1/models", "/sim/openapi.json", "/sim/metrics"])
def test_the_prefix_does_not_get_around_the_token(ask, path):
    assert ask.get(path).status_code == 401
    assert ask.get("/sim" + path).status_code in (401, 404)
    right = ask.get(path, headers=AUTHORIZED)
    assert right.status_code == 200
    if path.endswith("json"):
        assert right.json()["servers"] == [{"url": "/sim"}]


def test_no_file_of_the_explorer_has_an_absolute_address():
    for name, text in web_files().items():
        addresses = re.findall(r"""(?:href|src)=["']([^"']*)|from\s+["']([^"']*)""", text)
        assert not [a for pair in addresses for a in pair if a.startswith("/")], name
        if name != "api.js":
            assert "fetch(" not in text, name


def test_metrics_count_requests_under_the_prefix_by_their_route(ask):
    ask.get("/sim/v1/items/d7", headers=AUTHORIZED)
    line = 'likewise_requests_total{method="GET",route="/v1/items/{id:path}",status="200"} 1.0'
    assert line in ask.get("/sim/metrics", headers=AUTHORIZED).text


def test_a_redirect_to_a_path_without_its_last_slash_keeps_the_prefix(ask):
    moved = ask.get("/sim/v1/models/", headers=AUTHORIZED)
    assert moved.headers["location"] == "http://127.0.0.1:8000/sim/v1/models"


@pytest.mark.parametrize("prefix", ["", "/sim"])
def test_an_application_that_is_mounted_needs_its_token(ask, prefix):
    mounted = InProcess(Starlette(routes=[Mount("/outer", ask._transport.app)]))
    path = f"/outer{prefix}/v1/models"
    assert mounted.get(path).status_code == 401
    assert mounted.get(path, headers=AUTHORIZED).status_code == 200


@pytest.mark.parametrize("root_path", ["sim", "/sim/", "/", "/a b", "//a", "/sim?x"])
def test_a_prefix_that_is_none_is_refused(written, root_path):
    with pytest.raises(ValueError, match="root_path must begin with /"):
        Settings(*written, root_path=root_path)


def test_a_client_has_an_address_with_a_prefix(written, tmp_path):
    model, items = written
    options = ["--root-path", "/sim", "--store", tmp_path / "store.sqlite"]
    with Running(model, "--items", items, *options) as server:
        assert server.address.endswith("/sim")
        with Client(server.address) as client:
            assert len(client.search(id="d1", k=3).matches) == 3
