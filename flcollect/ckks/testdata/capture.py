"""Captures what TenSEAL 0.3.18 writes, small enough to keep:

    python capture.py FOLDER

Two clients send a tensor with one number a ciphertext, a packed one, and a vector. The
file "sum" holds three times the first and twice the second, as SEAL adds them,
which is exact.
"""

import pathlib
import sys

import tenseal as ts

folder = pathlib.Path(sys.argv[1])
context = ts.context(ts.SCHEME_TYPE.CKKS, 2048, coeff_mod_bit_sizes=[27, 26])
context.global_scale = 2**16
(folder / "public").write_bytes(context.serialize(save_secret_key=False))
(folder / "secret").write_bytes(context.serialize(save_secret_key=True))
make = {
    "tensor": lambda x: ts.ckks_tensor(context, [x, -x]),
    "packed": lambda x: ts.ckks_tensor(context, [[x], [2 * x], [3 * x]], batch=True),
    "vector": lambda x: ts.ckks_vector(context, [x, x + 1, x + 2]),
}
for name, of in make.items():
    first, second = of(0.5), of(0.25)
    (folder / f"{name}-first").write_bytes(first.serialize())
    (folder / f"{name}-second").write_bytes(second.serialize())
    (folder / f"{name}-sum").write_bytes((first + first + first + second + second).serialize())
