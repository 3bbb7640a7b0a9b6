"""Makes flower-1.3.0.json: the clip norms and models of Flower's own adaptive
clipping, without noise, with clients that clip by Flower's own means.

Run once with flwr 1.3.0 and numpy: python make.py
"""

import base64
import io
import json
import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import numpy as np  # noqa: E402
from flwr.client import NumPyClient  # noqa: E402
from flwr.client.dpfedavg_numpy_client import DPFedAvgNumPyClient  # noqa: E402
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays  # noqa: E402
from flwr.server.strategy import FedAvg  # noqa: E402
from flwr.server.strategy.dpfedavg_adaptive import DPFedAvgAdaptive  # noqa: E402


def npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return base64.b64encode(out.getvalue()).decode()


class Trained(NumPyClient):
    def __init__(self, model, examples):
        self.model, self.examples = model, examples

    def fit(self, parameters, config):
        return [w.copy() for w in self.model], self.examples, {}


def run(conf, clients):
    random = np.random.default_rng(20260101)
    current = [
        random.normal(0, 0.3, (5, 9)).astype(np.float32),
        random.normal(0, 2, (3, 2)),
        np.array([17], dtype=np.int64),
    ]
    initial = [w.copy() for w in current]
    made = DPFedAvgAdaptive(FedAvg(), clients, noise_multiplier=0, **conf)
    rounds = []
    for number in range(1, 7):
        sent = {"dpfedavg_clip_norm": made.clip_norm, "dpfedavg_adaptive_clip_enabled": True}
        updates, results = [], []
        for k in range(clients):
            step = 0.01 * 2 ** (k / 2)
            trained = [
                (current[0] + random.normal(0, step, (5, 9))).astype(np.float32),
                current[1] + random.normal(0, step, (3, 2)),
                current[2] + (k > 4),
            ]
            client = DPFedAvgNumPyClient(Trained(trained, int(random.integers(1, 5000))))
            answer, examples, metrics = client.fit(current, dict(sent))
            updates.append({
                "client": f"client-{k}",
                "examples": examples,
                "bit": bool(metrics["dpfedavg_norm_bit"]),
                "model": [npy(w) for w in answer],
            })
            status = Status(code=Code.OK, message="")
            results.append((None, FitRes(status, ndarrays_to_parameters(answer), examples, metrics)))
        answer, _ = made.aggregate_fit(number, results, [])
        current = [
            (np.rint(w) if i.dtype.kind == "i" else w).astype(i.dtype)
            for w, i in zip(parameters_to_ndarrays(answer), initial)
        ]
        rounds.append({
            "clip": sent["dpfedavg_clip_norm"],
            "updates": updates,
            "expected": [npy(w) for w in current],
            "next": made.clip_norm,
        })
    return {"conf": conf, "clients": clients, "initial": [npy(w) for w in initial], "rounds": rounds}


cases = [
    run({}, 7),
    run({"init_clip_norm": 2.0, "clip_norm_lr": 0.7, "clip_norm_target_quantile": 0.3}, 10),
    run({"init_clip_norm": 0.5, "clip_norm_lr": 0.0}, 5),
]
with open(f"flower-{flwr.__version__}.json", "w") as out:
    json.dump({"flwr": flwr.__version__, "numpy": np.__version__, "cases": cases}, out)
    out.write("\n")
