"""The clients and the peer of bench/ckks, with TenSEAL.

peer.py encrypt FOLDER CLIENTS LAYERS   makes a key, models and their encrypted updates
peer.py collect FOLDER RESULT           aggregates the updates as the original collector
                                        does, which has all of them in memory, and prints
                                        seconds, processor time and peak memory as JSON
peer.py fold FOLDER RESULT              does so with one update in memory at a time
peer.py check FOLDER RESULT             decrypts a result and prints the greatest distance
                                        from the weighted mean
"""

import json
import pathlib
import sys
import time

import numpy as np
import tenseal as ts

SLOTS = 4096
command, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def context_of(name):
    return ts.context_from((folder / name).read_bytes())


def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024


if command == "encrypt":
    folder.mkdir(exist_ok=True)
    clients, columns = int(sys.argv[3]), int(sys.argv[4])
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40])
    context.global_scale = 2**40
    (folder / "public").write_bytes(context.serialize(save_secret_key=False, save_galois_keys=False))
    (folder / "secret").write_bytes(context.serialize(save_secret_key=True, save_galois_keys=False))
    weights = [100 + 37 * client for client in range(clients)]
    (folder / "weights").write_text(json.dumps(weights))
    mean = np.zeros((SLOTS, columns))
    for client, weight in enumerate(weights):
        model = np.random.default_rng(client).uniform(-1, 1, (SLOTS, columns))
        mean += weight * model
        (folder / f"update-{client}").write_bytes(ts.ckks_tensor(context, model, batch=True).serialize())
    np.save(folder / "mean.npy", mean / sum(weights))
elif command in ("collect", "fold"):
    weights = json.loads((folder / "weights").read_text())
    context = context_of("public")
    start, worked = time.perf_counter(), time.process_time()

    def load(client):
        return ts.ckks_tensor_from(context, (folder / f"update-{client}").read_bytes())

    if command == "collect":
        updates = [load(client) for client in range(len(weights))]
        parts = [weight / sum(weights) * update for weight, update in zip(weights, updates)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
    else:
        total = None
        for client, weight in enumerate(weights):
            part = load(client)
            part *= weight / sum(weights)
            if total is None:
                total = part
            else:
                total += part
    result = total.serialize()
    seconds, cpu = time.perf_counter() - start, time.process_time() - worked
    pathlib.Path(sys.argv[3]).write_bytes(result)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak(), "size": len(result)}))
else:
    result = ts.ckks_tensor_from(context_of("secret"), pathlib.Path(sys.argv[3]).read_bytes())
    mean = np.load(folder / "mean.npy")
    print(float(np.abs(np.array(result.decrypt().tolist()).reshape(mean.shape) - mean).max()))
