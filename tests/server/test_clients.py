"""Both clients send the same requests and read the same answers."""

import asyncio
from inspect import iscoroutinefunction, signature

import httpx
import pytest

from likewise.server import AsyncClient, Client, ServerError
from likewise.server import _client as clients

METHODS = sorted(name for name in vars(Client) if not name.startswith("_"))


def call(client, name, *args, **kwargs):
    """Call a method of either client, and close the connections of the other loop."""
    answer = getattr(client, name)(*args, **kwargs)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


def test_both_have_the_same_methods_with_the_same_arguments_and_texts():
    assert sorted(name for name in vars(AsyncClient) if not name.startswith("_")) == METHODS
    for name in METHODS:
        one, other = getattr(Client, name), getattr(AsyncClient, name)
        assert signature(one) == signature(other), name
        assert one.__doc__, name
        assert iscoroutinefunction(other), name
        assert not iscoroutinefunction(one), name


def test_an_async_client_uses_a_real_server(running):
    async def use(address):
        async with AsyncClient(address) as client:
            found = await asyncio.gather(*(client.search(id=f"d{n}", k=3) for n in range(20)))
            scores = await client.score(["d2", "d3"], id="d1")
            told = await client.explain("d2", id="d1", top=3)
            first = await client.feedback([("d1", "d2", "d3")], key="async-1")
            again = await client.feedback([("d1", "d2", "d3")], key="async-1")
            await client.feedback([("d4", "d5", "d6")], user="ann")
            state = await client.wait(120)
            lines = (await client.export()).splitlines()
            undone = await client.undo("async-1"), await client.forget("ann")
            added = await client.add_items([{"id": "new", "vector": [0.5] * 64}])
            replaced = await client.replace_items([{"id": "new", "vector": [0.6] * 64}])
            item, page = await client.item("new"), await client.items(search="new")
            await client.remove_item("new")
            with pytest.raises(ServerError, match="there is no item 'new'") as error:
                await client.item("new")
            models, live = await client.models(), await client.promote(1)
            question, rolled = await client.teach_next("random"), await client.rollback(1)
        assert error.value.status == 404
        assert (first, again, undone, added, replaced, live, rolled) == (1, 1, (1, 1), 1, 1, 1, 1)
        assert state.applied == state.acknowledged >= 1
        assert (item.id, page.total, models.live) == ("new", 1, 1)
        assert any("async-1" in line for line in lines)
        assert len({question.query.id, question.left.id, question.right.id}) == 3
        return found, scores, told

    found, scores, told = asyncio.run(use(running.address))
    with running.client() as client:
        assert found == [client.search(id=f"d{n}", k=3) for n in range(20)]
        assert scores == client.score(["d2", "d3"], id="d1")
        assert told == client.explain("d2", id="d1", top=3)


@pytest.fixture(params=[Client, AsyncClient])
def answered(request, monkeypatch):
    """Return a function from answers to a client that gets them, and what it sends."""
    monkeypatch.setattr(clients, "_LOST_PAUSE", 0.0)
    monkeypatch.setattr(clients, "_MAX_PAUSE", 0.0)
    monkeypatch.setattr(clients, "_WAIT_PAUSE", 0.0)

    def answered(*answers):
        waiting, sent = list(answers), []

        def handle(asked):
            sent.append(asked)
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            if isinstance(answer, Exception):
                raise answer
            return httpx.Response(**answer)

        client = request.param("http://server", token="a-token-of-some-length")
        kind = type(client._http)
        headers = client._http.headers
        client._http = kind(
            base_url="http://server", headers=headers, transport=httpx.MockTransport(handle)
        )
        return client, sent

    return answered


OK = {"status_code": 200, "json": {"acknowledged": 3, "applied": 3}}
BUSY = {"status_code": 503, "json": {"error": "busy."}, "headers": {"retry-after": "1"}}
LOST = httpx.ReadError("the connection was lost")
ACCEPTED = {"status_code": 202, "json": {"accepted": 1}}


def test_what_is_postponed_or_lost_is_sent_again_with_its_key(answered):
    client, sent = answered(BUSY, LOST, {**BUSY, "status_code": 429}, ACCEPTED)
    assert call(client, "feedback", [("a", "b", "c")]) == 1
    assert len(sent) == 4
    assert len({request.content for request in sent}) == 1
    assert sent[0].headers["authorization"] == "Bearer a-token-of-some-length"


def test_six_attempts_are_made(answered):
    client, sent = answered(BUSY)
    with pytest.raises(ServerError, match="busy"):
        call(client, "models")
    assert len(sent) == 6
    client, sent = answered(LOST)
    with pytest.raises(httpx.ReadError):
        call(client, "feedback_state")
    assert len(sent) == 6


def test_a_change_whose_answer_was_lost_is_not_repeated(answered):
    client, sent = answered(LOST, OK)
    with pytest.raises(httpx.ReadError):
        call(client, "add_items", [{"id": 1, "vector": [1.0]}])
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("add_items", [[{"id": 1, "vector": [1.0]}]]), ("remove_item", [1]), ("rollback", [1])],
)
def test_a_change_that_may_have_been_made_is_not_repeated(answered, name, arguments):
    client, sent = answered(BUSY, OK)
    with pytest.raises(ServerError, match="busy"):
        call(client, name, *arguments)
    assert len(sent) == 1
    client, sent = answered({**BUSY, "status_code": 429}, {**BUSY, "status_code": 409})
    with pytest.raises(ServerError, match="busy"):
        call(client, name, *arguments)
    assert len(sent) == 2


@pytest.mark.parametrize("after", ["Wed, 21 Oct 2026 07:28:00 GMT", "-3", "soon"])
def test_a_time_that_is_no_number_of_seconds_is_waited_for_too(answered, after):
    client, sent = answered({**BUSY, "headers": {"retry-after": after}}, OK)
    assert call(client, "feedback_state").applied == 3
    assert len(sent) == 2


def test_waiting_ends_when_all_is_consumed_or_the_time_is_over(answered):
    behind = {"status_code": 200, "json": {"acknowledged": 3, "applied": 2}}
    client, _ = answered(behind, behind, OK)
    assert call(client, "wait", 60).applied == 3
    client, _ = answered(behind)
    with pytest.raises(TimeoutError, match="1 comparisons were not consumed within 0 s"):
        call(client, "wait", 0)


def test_an_answer_that_is_none_of_ours_is_an_error_too(answered):
    client, _ = answered({"status_code": 502, "text": "<html>"})
    with pytest.raises(ServerError, match="the server answered 502"):
        call(client, "models")
