"""After kill -9 no acknowledged feedback is lost, and none is learned twice.

``LIKEWISE_KILLS=50`` kills fifty times on each database instead of a few; with
``--log-cli-level=INFO`` it says how far it is.
"""

import logging
import os
import random
import secrets
from threading import Thread
from time import sleep

import httpx
import pytest
from tests.server.running import all_learned, digit_triplets, write_digits

from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.learning._learner import Learner
from likewise.server.store import Page, open_store

LOG = logging.getLogger(__name__)
KILLS = int(os.environ.get("LIKEWISE_KILLS", "2"))


class Feeder(Thread):
    """Sends feedback one after the other, and what was not answered once more."""

    def __init__(self, address, waiting, seed):
        super().__init__()
        self._address, self._waiting, self._random = address, waiting, random.Random(seed)
        self.acknowledged = []

    def run(self):
        with httpx.Client(base_url=self._address, trust_env=False) as http:
            while self._waiting:
                key, triplets = self._waiting[0]
                body = [{"query": q, "closer": c, "farther": f} for q, c, f in triplets]
                try:
                    answer = http.post("/v1/feedback", json={"triplets": body, "key": key})
                except httpx.TransportError:
                    return  # killed: whether it was written, nobody knows
                assert (answer.status_code, answer.json()) == (202, {"accepted": len(triplets)})
                self.acknowledged.append(self._waiting.pop(0))
                sleep(self._random.random() * 0.02)


class Reference:
    """The same feedback, learned in one run that nothing interrupts."""

    def __init__(self, model, items, place):
        service = Service(Settings(model, items, store=str(place)), learns=False)
        self._revisions = {
            name: item.revision for name, item in service.snapshot.catalog.by_id.items()
        }
        service.stop()
        self.store = open_store(str(place), durable=False)
        self._learner = Learner(self.store)

    def learn(self, feedback):
        for key, triplets in feedback:
            pages = [Page.from_triplet(*(self._revisions[name] for name in t)) for t in triplets]
            self.store.append(key, "x", pages)
        while self._learner.step():
            pass
        self._learner.save()
        return all_learned(self.store)

    def close(self):
        self.store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_feedback_survives_every_kill_and_is_learned_once(kind, tmp_path, request, zygote):
    model, items = write_digits(tmp_path, 100)
    if kind == "sqlite":
        place, schema = str(tmp_path / "store.sqlite"), "likewise"
    else:
        place, schema = request.getfixturevalue("postgres_url"), f"test_{secrets.token_hex(8)}"
    reference = Reference(model, items, tmp_path / "reference.sqlite")
    chance = random.Random(0)
    triplets = digit_triplets(200_000, n_items=100)
    waiting, sent = [], 0
    for number in range(20_000):
        size = chance.choice([1, 1, 1, 2, 5])
        waiting.append((f"key-{number}", triplets[sent : sent + size]))
        sent += size
    acknowledged, new = [], []
    settings = {"model": model, "items": items, "store": place, "schema": schema}
    for kill in range(KILLS + 1):
        with zygote.server(**settings, feedback_rate=1e9) as server:
            with server.client() as client:
                if kill:
                    # What was not answered may be written or not; sent again it is, once.
                    key, again = waiting.pop(0)
                    assert client.feedback(again, key=key) == len(again)
                    new.append((key, again))
                    acknowledged += new
                    _check(client, acknowledged)
                    store = open_store(place, schema=schema)
                    assert all_learned(store) == reference.learn(new)
                    store.close()
                    LOG.info("%s: %s kills, %s entries are right", kind, kill, len(acknowledged))
            if kill < KILLS:
                feeder = Feeder(server.address, waiting, kill)
                feeder.start()
                sleep(chance.random() * 2)
                server.kill()
                feeder.join()
                new = feeder.acknowledged
    reference.close()
    assert len(acknowledged) > KILLS


def _check(client, acknowledged):
    """See that exactly what was acknowledged is there, in its order, and consumed."""
    state = client.wait(180)
    assert state.acknowledged == sum(len(triplets) for _, triplets in acknowledged)
    wanted = [[*triplet, key] for key, triplets in acknowledged for triplet in triplets]
    found = [line.split(",") for line in client.export("csv").splitlines()[1:]]
    assert [[*cells[:3], cells[4]] for cells in found] == wanted
