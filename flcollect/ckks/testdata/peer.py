"""A population of TenSEAL clients with one key, for python_test.go.

peer.py encrypt FOLDER   reads a case as JSON from standard input, draws a model for
                         every client, and writes its messages, the key and the models
peer.py decrypt FOLDER   decrypts result-LAYER of the folder and prints for every
                         layer the greatest distance from the weighted mean of the models
peer.py noise FOLDER     decrypts likewise, and prints as JSON for every layer all
                         distances of the weighted sum from that of the models
"""

import json
import pathlib
import sys

import numpy as np
import tenseal as ts

command, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def key_of(case):
    """Returns the context that all clients share, made by the first of them."""
    name = folder / "secret"
    if name.exists():
        return ts.context_from(name.read_bytes())
    context = ts.context(ts.SCHEME_TYPE.CKKS, case["degree"], coeff_mod_bit_sizes=case["sizes"])
    context.global_scale = 2 ** case["scale"]
    if case["galois"]:
        context.generate_galois_keys()
    name.write_bytes(context.serialize(save_secret_key=True))
    (folder / "public").write_bytes(context.serialize(save_secret_key=False))
    return context


def encrypt(context, form, layer):
    """Returns a layer's message. A packed tensor has its first dimension in the slots
    (TenSEAL itself mixes up the elements of one of shape (n, 1))."""
    if form == "vector":
        return ts.ckks_vector(context, layer.ravel().tolist()).serialize()
    return ts.ckks_tensor(context, layer, batch=form == "packed").serialize()


def decrypt(context, form, message):
    if form == "vector":
        return np.array(ts.ckks_vector_from(context, message).decrypt())
    return np.array(ts.ckks_tensor_from(context, message).decrypt().tolist())


case = json.loads((folder / "case").read_text()) if command != "encrypt" else json.load(sys.stdin)
context = key_of(case)
if command == "encrypt":
    (folder / "case").write_text(json.dumps(case))
    for client in case["clients"]:
        random = np.random.default_rng(client)
        model = [random.uniform(-1, 1, layer["shape"]) for layer in case["layers"]]
        np.savez(folder / f"model-{client}.npz", *model)
        for k, layer in enumerate(case["layers"]):
            (folder / f"update-{client}-{k}").write_bytes(encrypt(context, layer["form"], model[k]))
else:
    weights = case["weights"]
    models = [np.load(folder / f"model-{client}.npz") for client in range(len(weights))]
    for k, layer in enumerate(case["layers"]):
        mean = sum(n * model[f"arr_{k}"] for n, model in zip(weights, models)) / sum(weights)
        result = decrypt(context, layer["form"], (folder / f"result-{k}").read_bytes())
        distance = result.reshape(layer["shape"]) - mean
        if command == "noise":
            print(json.dumps((distance * sum(weights)).ravel().tolist()))
        else:
            print(float(np.abs(distance).max()))
