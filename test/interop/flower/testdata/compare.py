"""Compares final weights: python compare.py FOLDER

FOLDER/CASE.pkl is a result as the repository has it, FOLDER/CASE.npz the same as
the collector has it, FOLDER/CASE-K.npz that of the K-th run of Flower's server. It
writes, as JSON by the names of the cases, how far they are apart: "floats" the
greatest difference of layers of floating-point numbers, relative to values beyond 1,
"whole" that of layers of whole numbers, both for the run of Flower that is nearest;
"types" and "shapes" of the layers; "same", whether pickle and .npz are the same.
"""

import glob
import json
import os
import pickle
import sys

import numpy as np

folder = sys.argv[1]


def layers(name):
    with np.load(name, allow_pickle=False) as file:
        return [file[f"arr_{i}"] for i in range(len(file.files))]


def distance(ours, theirs):
    apart = {"floats": 0.0, "whole": 0.0}
    for mine, other in zip(ours, theirs):
        assert mine.shape == other.shape, (mine.shape, other.shape)
        difference = np.abs(mine.astype(np.float64) - other.astype(np.float64))
        if mine.dtype.kind == "f":
            apart["floats"] = max(apart["floats"], float((difference / np.maximum(1, np.abs(other))).max()))
        else:
            apart["whole"] = max(apart["whole"], float(difference.max()))
    return apart


answer = {}
for name in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pkl"))):
    base = name[: -len(".pkl")]
    with open(name, "rb") as file:
        ours = pickle.load(file)
    assert isinstance(ours, list) and all(isinstance(layer, np.ndarray) for layer in ours), ours
    again = layers(base + ".npz")
    same = len(ours) == len(again) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(ours, again))
    runs = [layers(run) for run in glob.glob(glob.escape(base) + "-*.npz")]
    assert runs and all(len(run) == len(ours) for run in runs), base
    nearest = min((distance(ours, run) for run in runs), key=lambda apart: apart["floats"])
    answer[os.path.basename(base)] = {
        **nearest, "types": [str(layer.dtype) for layer in ours], "shapes": [list(layer.shape) for layer in ours], "same": same}
print(json.dumps(answer))
