"""The tests of this folder are as offline as those of `likewise.datasets`."""

from tests.datasets.conftest import _offline, folder, real_folder, sklearn_home

__all__ = ["_offline", "folder", "real_folder", "sklearn_home"]
