"""Index files with changed arrays and parameters."""

import json

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def tampered(path, change):
    """Write a file anew, with its arrays and parameters changed."""
    with safe_open(path, framework="numpy") as file:
        header = dict(file.metadata())
    arrays = {name: array.copy() for name, array in load_file(path).items()}
    parameters = json.loads(header["parameters"])
    change(arrays, parameters)
    save_file(arrays, path, metadata={**header, "parameters": json.dumps(parameters)})


def set_array(name, value):
    """Return a change of the array of a name by a function of it."""

    def change(arrays, parameters):
        found = [key for key in arrays if key.startswith(f"{name}#")]
        assert found, sorted(arrays)
        arrays[found[0]] = np.ascontiguousarray(value(arrays[found[0]]))

    return change
