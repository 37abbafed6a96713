"""The methods of both clients have the types of their requests: mypy checks this file."""

from typing import assert_type

from likewise import server
from likewise.server.api._schemas import FeedbackState, Models, SearchResponse


def synchronous(client: server.Client) -> None:
    """Use a client."""
    assert_type(client.search(text="boots", k=3, user="ann"), SearchResponse)
    assert_type(client.feedback([("a", "b", "c")], clicks=[({"text": "t"}, ["a"], "a", 3)]), int)
    assert_type(client.models(), Models)
    assert_type(client.wait(5), FeedbackState)
    client.search(txt="boots")  # type: ignore[call-arg]


async def asynchronous(client: server.AsyncClient) -> None:
    """Use a client for asyncio."""
    assert_type(await client.search(text="boots", k=3, user="ann"), SearchResponse)
    assert_type(await client.feedback([([0.5, 0.5], "b", "c")], key="k"), int)
    assert_type(await client.models(), Models)
    assert_type(await client.wait(5), FeedbackState)
    await client.search(k="three")  # type: ignore[arg-type]
