"""Makes npy.json: arrays as numpy.save writes them, and their values. Run with numpy 1.26."""

import base64
import io
import json

import numpy as np
from numpy.lib import format as npy

cases = []


def add(name, array, version=None, header=None, canonical=False):
    out = io.BytesIO()
    if header is None:
        npy.write_array(out, array, version=version, allow_pickle=False)
    else:
        out.write(header)
        out.write(array.tobytes())
    values = [repr(float(v)) for v in np.asarray(array, order="C").ravel(order="C")]
    cases.append({"name": name, "file": base64.b64encode(out.getvalue()).decode(), "dtype": array.dtype.name,
                  "shape": list(array.shape), "values": values, "canonical": canonical})


for dtype in ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]:
    ramp = np.array([[0, 1, 2], [100, 5, 1]])
    add(dtype, ramp.astype("<" + dtype), canonical=True)
    add("0-d " + dtype, np.array(3).astype("<" + dtype), canonical=True)
    add("Fortran " + dtype, np.asfortranarray(ramp.astype("<" + dtype)))
    if dtype[1] != "1":
        add("big-endian " + dtype, ramp.astype(">" + dtype))
        add("big-endian Fortran " + dtype, np.asfortranarray(ramp.astype(">" + dtype)))
add("empty", np.zeros((3, 0, 2), "<f4"), canonical=True)
add("vector", np.arange(1000, dtype="<f4"), canonical=True)
add("transposed cube", np.arange(24, dtype="<f4").reshape(2, 3, 4).T)
add("four axes", np.arange(120, dtype="<f8").reshape(2, 3, 4, 5), canonical=True)
add("many axes", np.zeros((1,) * 32, "<f4"), canonical=True)
add("negative", np.array([-1.5, -0.0, 6.1e-5, 5.96e-8, 65504, np.inf], "<f2"), canonical=True)
add("version 2", np.arange(4, dtype="<f4"), version=(2, 0))
add("version 3", np.arange(4, dtype="<f4"), version=(3, 0))
text = b'{"shape":(2,3L),"fortran_order":False,"descr":"<f4"}\n'
add("keys in another order", np.arange(6, dtype="<f4").reshape(2, 3),
    header=b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)

refused = []
for name, array in [("object", np.array([1, "a"], object)), ("text", np.array(["a"])), ("bytes", np.array([b"a"])),
                    ("complex", np.array([1j])), ("record", np.zeros(2, [("a", "<f4")])), ("void", np.zeros(2, "V3")),
                    ("dates", np.zeros(2, "M8[s]"))]:
    out = io.BytesIO()
    npy.write_array(out, array, allow_pickle=True)
    refused.append({"name": name, "file": base64.b64encode(out.getvalue()).decode()})

with open("npy.json", "w") as out:
    json.dump({"numpy": np.__version__, "cases": cases, "refused": refused}, out, indent=0)
    out.write("\n")
