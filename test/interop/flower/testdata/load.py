"""Loads weights: python load.py FILE... prints the values of each pickle as JSON, layer by layer."""

import json
import pickle
import sys

import numpy as np

for name in sys.argv[1:]:
    with open(name, "rb") as file:
        layers = pickle.load(file)
    assert isinstance(layers, list) and all(isinstance(layer, np.ndarray) for layer in layers), layers
    print(json.dumps([[str(layer.dtype), list(layer.shape), layer.ravel().tolist()] for layer in layers]))
