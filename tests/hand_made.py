"""Model files made by hand: what no writer of ours would write."""

import json
import struct


def file_of(header, tensors=None, *, metadata=None):
    """Return the bytes of a safetensors file, made by hand.

    Parameters
    ----------
    header : entries of our header that differ from those of a good one; None takes one away
    tensors : name to (type in the file, shape, bytes)
    """
    good = {"format": "likewise", "format_version": "1", "class": "Bilinear"}
    entries = {key: value for key, value in {**good, **header}.items() if value is not None}
    described, data = {"__metadata__": entries if metadata is None else metadata}, b""
    for name, (dtype, shape, content) in (tensors or {}).items():
        offsets = [len(data), len(data) + len(content)]
        described[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += content
    text = json.dumps(described).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def parameters(**values):
    return {"parameters": json.dumps(values)}


def doubles(*values):
    return "F64", [len(values)], struct.pack(f"<{len(values)}d", *values)


def longs(*values):
    return "I64", [len(values)], struct.pack(f"<{len(values)}q", *values)


def fitted(parameters=None, **values):
    """Return the header of a classifier of two rows; its arrays are `IDENTITY`."""
    similarity = {"class": "Mahalanobis", "parameters": {"L": 1.0}}
    good = {
        "n_features_in_": 2,
        "learner_": None,
        "similarities_": None,
        "radii_": None,
        "similarity_": {"$object": similarity},
        "items_": CSR,
        "classes_": {"$text": ["a", "b"], "$shape": [2]},
        "labels_": {"$array": "i"},
    }
    entries = {"class": "SimilarityClassifier", "parameters": json.dumps(parameters or {})}
    return {**entries, "fitted": json.dumps({**good, **values})}


def nested(depth):
    value = 1.0
    for _ in range(depth):
        value = {"$list": [value]}
    return value


# The parts of a sparse identity, and the value that puts them together.
IDENTITY = {"d": doubles(1.0, 1.0), "i": longs(0, 1), "p": longs(0, 1, 2), "s": longs(2, 2)}
CSR = {"$csr": [{"$array": name} for name in IDENTITY]}
