"""Compares final weights of cases of uneven.py: python uneven_compare.py FOLDER

FOLDER/CASE.npz is our result; the others are those of uneven_reference.py. It writes, as
JSON by the names of the cases: "flower" and "exact", the greatest difference of a weight
from either, relative to the greatest weight; "whole", the greatest of a whole number from
the exact one; "distance" and "moved", the Euclidean distances from the exact weights and
whole numbers; "types" of the layers.
"""

import glob
import json
import os
import sys

import numpy as np

folder = sys.argv[1]


def layers(name):
    with np.load(os.path.join(glob.escape(folder), name), allow_pickle=False) as file:
        return [np.asarray(file[f"arr_{i}"]) for i in range(len(file.files))]


def apart(ours, others):
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(ours, others)]
    return max([float(np.abs(a - b).max()) for a, b in pairs], default=0.0), float(np.sqrt(sum(np.sum(np.square(a - b)) for a, b in pairs)))


answer = {}
with open(os.path.join(folder, "cases.json")) as file:
    cases = json.load(file)
for case in cases:
    name = case["name"]
    ours, exact = layers(name + ".npz"), layers(name + "-exact.npz")
    assert [layer.shape for layer in ours] == [layer.shape for layer in exact], name
    scale = max(float(np.abs(layer).max()) for layer in exact[:2])
    greatest, distance = apart(ours[:2], exact[:2])
    whole, moved = apart(ours[2:], exact[2:])
    answer[name] = {"exact": greatest / scale, "distance": distance, "whole": whole, "moved": moved,
                    "types": [str(layer.dtype) for layer in ours]}
    if not case["attack"]:
        flower = layers(name + "-flower.npz")
        assert np.isfinite(flower[0].astype(np.float64)).all(), name
        answer[name]["flower"] = apart(ours[:2], flower[:2])[0] / scale
print(json.dumps(answer))
