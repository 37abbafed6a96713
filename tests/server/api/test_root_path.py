"""Everything works under a prefix, whether the proxy removes it or not."""

import re
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.server.running import InProcess, Running, web_files, write_digits

from likewise.server import Client, Settings, create_app

TOKEN = "a-token-of-sixteen"
PROXY = "10.1.2.3"
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


@pytest.mark.parametrize(
    "root_path", ["sim", "/sim/", "/", "/a b", "//a", "/sim?x", "/a/../b", "/" + 200 * "a"]
)
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


class Proxied:
    """An application that trusts some proxies, asked from several addresses."""

    def __init__(self, settings):
        self.app = create_app(settings)

    def get(self, path, *prefixes, peer=PROXY, **headers):
        sent = list({**AUTHORIZED, **headers}.items())
        sent += [("x-forwarded-prefix", prefix) for prefix in prefixes]
        return InProcess(self.app, peer=peer).get(path, headers=sent)

    def servers(self, *prefixes, peer=PROXY):
        """Return the addresses that the description of the API names."""
        return self.get("/openapi.json", *prefixes, peer=peer).json().get("servers", [])


@pytest.fixture(scope="module")
def proxied(written, tmp_path_factory):
    store = tmp_path_factory.mktemp("proxied") / "store.sqlite"
    settings = Settings(*written, store=str(store), token=TOKEN)
    opened = Proxied(replace(settings, forwarded_allow_ips="127.0.0.1, 10.0.0.0/8,fd00::/8"))
    yield opened
    opened.app.state.likewise.service.stop()


@pytest.mark.parametrize("peer", [PROXY, "127.0.0.1", "::ffff:10.1.2.3", "fd00::1"])
def test_a_trusted_proxy_sets_the_prefix_of_a_request(proxied, peer):
    assert proxied.servers("/sim", peer=peer) == [{"url": "/sim"}]
    assert proxied.servers("/other/one/", peer=peer) == [{"url": "/other/one"}]
    assert proxied.servers("/", peer=peer) == proxied.servers(peer=peer) == []


@pytest.mark.parametrize("peer", ["127.0.0.2", "11.1.2.3", "::1", "fe80::1", "unix", ""])
def test_the_prefix_of_another_peer_is_ignored(proxied, peer):
    assert proxied.servers("/sim", peer=peer) == []
    assert proxied.get("/sim/healthz", "/sim", peer=peer).status_code == 404
    assert proxied.get("/healthz", "no prefix", peer=peer).status_code == 200


def test_no_proxy_is_trusted_by_default(ask):
    sent = {**AUTHORIZED, "x-forwarded-prefix": "/other"}
    assert ask.get("/openapi.json", headers=sent).json()["servers"] == [{"url": "/sim"}]


@pytest.mark.parametrize("kept", ["", "/sim"])
@pytest.mark.parametrize("path", ["/", "/docs", "/web/app.js", "/healthz", "/v1/models"])
def test_a_trusted_proxy_removes_the_prefix_or_keeps_it(proxied, kept, path):
    assert proxied.get(kept + path, "/sim").status_code == 200


def test_the_header_takes_the_place_of_the_setting(written, tmp_path):
    settings = Settings(*written, store=str(tmp_path / "store.sqlite"), token=TOKEN)
    both = Proxied(replace(settings, root_path="/sim", forwarded_allow_ips=PROXY))
    assert both.servers() == [{"url": "/sim"}]
    assert both.servers("/other") == [{"url": "/other"}]
    assert both.get("/other/healthz", "/other").status_code == 200
    assert both.get("/sim/healthz", "/other").status_code == 404
    both.app.state.likewise.service.stop()


def test_the_prefix_of_a_header_does_not_get_around_the_token(proxied):
    for path in ("/v1/models", "/sim/v1/models", "/openapi.json", "/sim/metrics"):
        assert proxied.get(path, "/sim", authorization="none").status_code == 401
    for prefix in ("/sim", "/v1", "/sim/v1"):
        for path in (f"{prefix}{prefix}/v1/models", f"{prefix}{prefix}/models"):
            assert proxied.get(path, prefix, authorization="none").status_code in (401, 404)


@pytest.mark.parametrize(
    "prefixes",
    [
        ["sim"],
        [""],
        ["//evil.example"],
        ["/a//b"],
        ["/a/../b"],
        ["/a%2fb"],
        ["/a b"],
        ["/a?b"],
        ["/a, /b"],
        ["/a", "/b"],
        ["https://evil.example"],
        ["/" + 200 * "a"],
    ],
)
def test_a_wrong_prefix_of_a_trusted_proxy_is_refused(proxied, prefixes):
    refused = proxied.get("/healthz", *prefixes)
    assert refused.status_code == 400
    assert refused.json()["error"].startswith("X-Forwarded-Prefix must begin with / and not end")
    assert repr(", ".join(prefixes)[:200]) in refused.json()["error"]


def test_other_forwarded_headers_are_ignored(proxied):
    sent = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "https", "forwarded": "a=b"}
    moved = proxied.get("/v1/models/", "/sim", **sent)
    assert moved.headers["location"] == "http://127.0.0.1:8000/sim/v1/models"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("proxy", "such as 127.0.0.1,10.0.0.0/8, but 'proxy' was given."),
        ("*", "but '*' was given."),
        ("127.0.0.1,,::1", "but '' was given."),
        ("127.0.0.1:80", "but '127.0.0.1:80' was given."),
        ("::1,10.1.2.3/8", "but '10.1.2.3/8' was given; the network is 10.0.0.0/8."),
    ],
)
def test_a_wrong_address_of_a_proxy_is_refused(written, given, sentence):
    with pytest.raises(ValueError, match="forwarded_allow_ips must be addresses") as refused:
        Settings(*written, forwarded_allow_ips=given)
    assert sentence in str(refused.value)


def test_a_server_with_workers_trusts_its_proxies(written, tmp_path):
    model, items = written
    options = ["--forwarded-allow-ips", "127.0.0.1", "--store", tmp_path / "store.sqlite"]
    with Running(model, "--items", items, "--workers", "2", *options) as server:
        found = httpx.get(f"{server.address}/openapi.json", headers={"x-forwarded-prefix": "/sim"})
        assert found.json()["servers"] == [{"url": "/sim"}]
