"""Loads weights: python load.py FILE... prints of each pickle, layer by layer, type, shape, least and greatest number."""

import json
import pickle
import sys

import numpy as np

for name in sys.argv[1:]:
    with open(name, "rb") as file:
        layers = pickle.load(file)
    assert isinstance(layers, list) and all(isinstance(layer, np.ndarray) for layer in layers), layers
    print(json.dumps([[str(layer.dtype), list(layer.shape), float(layer.min()), float(layer.max())] for layer in layers]))
