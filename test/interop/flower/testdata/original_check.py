"""Checks a training of original.py: python original_check.py FOLDER RESULT [SECRET]

RESULT is the repository's pickle of the result. It writes, as JSON, "means", how far what each
client got after a round is at most from the mean of what they sent in it, "result", the same of the
result after the last round, and "types" and "shapes" of the result.
"""

import base64
import glob
import json
import os
import pickle
import sys

import numpy as np

folder, result = sys.argv[1:3]


def layers(name):
    with np.load(os.path.join(folder, name)) as file:
        return [np.asarray(file[f"arr_{i}"], np.float64) for i in range(len(file.files))]


def apart(one, other):
    return max(float(np.abs(a.reshape(b.shape) - b).max()) for a, b in zip(one, other))


numbers = sorted(int(os.path.basename(name).split("-")[0]) for name in glob.glob(os.path.join(folder, "*-sent-1.npz")))
rounds = len(glob.glob(os.path.join(folder, f"{numbers[0]}-sent-*.npz")))
weights = [10 + 20 * number for number in numbers]
worst = 0.0
for k in range(1, rounds + 1):
    sent = [layers(f"{number}-sent-{k}.npz") for number in numbers]
    mean = [sum(w * s[i] for w, s in zip(weights, sent)) / sum(weights) for i in range(len(sent[0]))]
    worst = max([worst] + [apart(layers(f"{number}-got-{k}.npz"), mean) for number in numbers])
with open(result, "rb") as file:
    made = pickle.load(file)
if len(sys.argv) > 3:
    import tenseal as ts

    with open(sys.argv[3], "rb") as file:
        context = ts.context_from(base64.b64decode(file.read()))
    assert made.tensor_type == "homomorphic", made.tensor_type
    made = [np.array(ts.ckks_tensor_from(context, tensor).decrypt().tolist()) for tensor in made.tensors]
print(json.dumps({"rounds": rounds, "means": worst, "result": apart([np.asarray(m, np.float64) for m in made], mean),
                  "types": [str(m.dtype) for m in made], "shapes": [list(m.shape) for m in made]}))
