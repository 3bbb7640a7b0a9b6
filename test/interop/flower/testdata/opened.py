"""Decrypts a result: python opened.py EXAMPLE SECRET SIZES PICKLE prints its numbers as JSON.

PICKLE is what the repository has of a training with homomorphic, SIZES are those of the
layers, as JSON.
"""

import json
import os
import pickle
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
sys.path.insert(0, sys.argv[1])

import flwr  # noqa: E402
import keys  # noqa: E402
import numpy as np  # noqa: E402
import sealed  # noqa: E402

with open(sys.argv[4], "rb") as file:
    result = pickle.load(file)
assert type(result) is flwr.common.typing.Parameters, type(result)
assert result.tensor_type == sealed.HOMOMORPHIC, result.tensor_type
assert all(type(tensor) is bytes for tensor in result.tensors), [type(tensor) for tensor in result.tensors]
form = sealed.Packed if len(result.tensors) == 1 else sealed.Unbatched
layers = form(keys.load(sys.argv[2]), [np.zeros(size) for size in json.loads(sys.argv[3])]).decrypt(result.tensors)
print(json.dumps(np.concatenate(layers).tolist()))
