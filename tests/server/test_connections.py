"""Connections whose clients send or read nothing do not keep others out."""

import asyncio
import socket
from contextlib import ExitStack

import httpx
import pytest

from likewise.server._connections import allow_many_files, protocol_class

uvicorn = pytest.importorskip("uvicorn")


@pytest.fixture
def answer():
    """Return a function that runs a coroutine beside a small server, with its address."""

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        body = b"hello" * (10_000_000 if scope["path"] == "/large" else 1)
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def run(work, **options):
        async def main():
            protocol = protocol_class(**options)
            config = uvicorn.Config(app, http=protocol, lifespan="off", log_level="critical")
            config.load()
            state = uvicorn.server.ServerState()
            loop = asyncio.get_running_loop()
            server = await loop.create_server(
                lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
            )
            async with server:
                return await work(server.sockets[0].getsockname()[1], state)

        return asyncio.run(main())

    return run


async def is_closed(reader, seconds=5.0):
    try:
        return await asyncio.wait_for(reader.read(), seconds) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_headers_must_be_complete_in_time(answer, sent):
    async def work(port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        closed = await is_closed(reader)
        writer.close()
        return closed, len(state.connections)

    assert answer(work, header_seconds=0.05) == (True, 0)


def test_the_headers_of_a_second_request_must_be_complete_in_time_too(answer):
    whole = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    async def work(port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole)
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(0.2)  # an idle connection is kept
        writer.write(whole)
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        writer.write(whole[:-2])
        closed = await is_closed(reader)
        writer.close()
        return closed

    assert answer(work, header_seconds=0.1)


def test_at_the_limit_the_oldest_incomplete_connection_is_closed_first(answer):
    async def work(port, state):
        idle_reader, idle = await asyncio.open_connection("127.0.0.1", port)
        idle.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await idle_reader.readuntil(b"hello")
        streams = []
        for _ in range(5):
            streams.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.sleep(0.02)
        closed = [await is_closed(reader, 0.2) for reader, _ in [*streams, (idle_reader, idle)]]
        for _, writer in [*streams, (idle_reader, idle)]:
            writer.close()
        return closed

    # the idle connection and three others stay
    closed = answer(work, max_connections=4, header_seconds=60.0)
    assert closed == [True, True, False, False, False, False]


WHOLE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
PART = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhell"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(WHOLE, id="idle"),
        pytest.param(PART, id="incomplete body"),
        pytest.param(WHOLE.replace(b"/", b"/large", 1), id="unread response"),
    ],
)
def test_at_the_limit_a_new_connection_is_answered(answer, sent):
    async def work(port, state):
        streams = []
        for _ in range(4):
            streams.append(await asyncio.open_connection("127.0.0.1", port, limit=1024))
            streams[-1][1].write(sent)
            await asyncio.sleep(0.05)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(WHOLE)
        try:
            return await asyncio.wait_for(reader.readuntil(b"hello"), 5), len(state.connections)
        finally:
            for _, other in [*streams, (reader, writer)]:
                other.transport.abort()
            while state.connections:
                await asyncio.sleep(0.01)

    response, n_connections = answer(work, max_connections=4, header_seconds=60.0)
    assert response.startswith(b"HTTP/1.1 200")
    assert n_connections == 4


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", id="headers"),
        pytest.param(
            b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9\r\n\r\n{",
            id="bodies",
        ),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", id="idle"),
    ],
)
def test_a_thousand_waiting_connections_do_not_stop_searches(digits, zygote, sent):
    allow_many_files()
    with zygote.server(*digits) as server, ExitStack() as stack:
        port = int(server.address.rpartition(":")[2])
        for number in range(1_200):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(sent)
            if number % 100 == 99:
                found = httpx.post(
                    f"{server.address}/v1/search", json={"id": "d1", "k": 3}, timeout=60
                )
                assert found.status_code == 200
                assert len(found.json()["matches"]) == 3
