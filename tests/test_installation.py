"""README, guide and error messages print one installation command, from one constant."""

import pytest
from tools.install_lines import COMMAND, ROOT, pages, rewritten

from likewise._installation import install_command, install_hint, install_place
from likewise.exceptions import MissingExtraError, require_extra


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_prints_the_current_command(page):
    text = page.read_text(encoding="utf8")
    assert rewritten(text) == text, "run: make install-lines"


def test_the_readme_says_how_to_install():
    assert COMMAND.search((ROOT / "README.md").read_text(encoding="utf8"))


def test_commands_are_rewritten_with_their_extras():
    text = "`pip install likewise`, pip install '.[cli,dask]' and pip install likewise."
    bare, extras = install_command(), install_command("cli", "dask")
    assert rewritten(text) == f"`{bare}`, {extras} and {bare}."


def test_the_place_is_rewritten_with_the_commands():
    assert rewritten("From the package index:") == rewritten("In a clone of the repository:")


def test_commands_name_the_package_once_it_is_published():
    assert install_place(published=True) == "From the package index"
    assert install_command(published=False) == "pip install ."
    assert install_command("cli", "dask", published=False) == "pip install '.[cli,dask]'"
    assert install_command(published=True) == "pip install likewise"
    assert install_hint("cli", published=True) == "pip install 'likewise[cli]'"
    assert install_hint("cli", published=False) == "pip install '.[cli]' in a clone of likewise"


def test_a_missing_package_is_reported_with_the_command(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("likewise.exceptions.import_module", missing)
    with pytest.raises(MissingExtraError) as raised:
        require_extra("faiss.contrib", "faiss", "engine='faiss'")
    assert str(raised.value) == f"engine='faiss' needs faiss: {install_hint('faiss')}"
