"""Two servers on one PostgreSQL database serve the same items and versions."""

import secrets
from time import monotonic, sleep

import pytest
from tests.server.running import digit_triplets, write_digits


def eventually(ask, wanted, seconds=30):
    until = monotonic() + seconds
    while (found := ask()) != wanted and monotonic() < until:
        sleep(0.05)
    assert found == wanted


@pytest.fixture
def settings(postgres_url, tmp_path):
    model, items = write_digits(tmp_path)
    schema = f"test_{secrets.token_hex(8)}"
    return {"model": model, "items": items, "store": postgres_url, "schema": schema}


def test_what_one_learns_the_other_serves_and_takes_over(settings, zygote):
    triplets = digit_triplets(1_400)
    with zygote.server(**settings) as other, other.client() as there:
        with zygote.server(**settings) as one, one.client() as here:
            for start in range(0, 1_000, 50):
                (here if start % 100 else there).feedback(triplets[start : start + 50])
            assert here.wait(180).applied == there.wait(180).applied == 1_000
            live = here.models().live
            assert live > 1
            eventually(lambda: there.search(id="d5").model, live)
            assert there.search(id="d5") == here.search(id="d5")

            here.add_items([{"id": "new", "vector": [0.5] * 64}])
            assert there.item("new").id == "new"
            eventually(lambda: len(there.search(vector=[0.5] * 64, k=400).matches), 301)
            there.remove_item("new")
            eventually(lambda: len(here.search(vector=[0.5] * 64, k=400).matches), 300)

            assert there.rollback(1) == 1
            eventually(lambda: here.search(id="d5").model, 1)
            there.promote(live)
            assert here.feedback(triplets[:1], key="k") == there.feedback(triplets[:1], key="k")
            assert there.feedback_state().acknowledged == 1_001
            one.kill()
        # Whichever of the two had the learner: it goes on without the one that was killed.
        there.feedback(triplets[1_000:1_400])
        assert there.wait(180).applied == 1_401
