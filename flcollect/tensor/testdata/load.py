"""Loads model.pkl and model.npz of a folder, saves what it found there, and more, as saved.npz and packed.npz,
and prints what the arrays of each are."""

import json
import os
import pickle
import sys
import zlib

import numpy as np

folder = sys.argv[1]


def describe(arrays):
    out = []
    for name, array in arrays:
        assert type(array) is np.ndarray, type(array)
        plain = np.asarray(array, order="C")
        if plain.dtype.byteorder == ">":
            plain = plain.astype(plain.dtype.newbyteorder("<"))
        out.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "bytes": zlib.crc32(plain.tobytes())})
    return out


with open(os.path.join(folder, "model.pkl"), "rb") as file:
    loaded = pickle.load(file)
    assert file.read() == b""
assert type(loaded) is list
for array in loaded:
    assert array.flags.c_contiguous and array.flags.writeable and array.dtype.isnative
    assert pickle.loads(pickle.dumps(array)).tobytes() == array.tobytes()

with np.load(os.path.join(folder, "model.npz"), allow_pickle=False) as file:
    assert file.zip.testzip() is None
    named = {name: file[name] for name in file.files}

more = dict(named)
more["big-endian"] = np.arange(6, dtype=">f8").reshape(2, 3)
more["transposed"] = np.arange(24, dtype="<i4").reshape(2, 3, 4).T
np.savez(os.path.join(folder, "saved.npz"), **more)
np.savez_compressed(os.path.join(folder, "packed.npz"), **more)

json.dump({
    "numpy": np.__version__,
    "pickle": describe(("", array) for array in loaded),
    "npz": describe(named.items()),
    "saved": describe(more.items()),
    "packed": describe(more.items()),
}, sys.stdout)
