"""Makes flower-VERSION.json: what the strategies of Flower answer.

Run once with each version, and numpy: python make.py
Versions used: 1.3.0, which has no trimmed mean and no Bulyan, 1.11.1, and 1.42.0, whose
FedAdam corrects the bias of its first rounds.
"""

import base64
import io
import json
import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import numpy as np  # noqa: E402
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays  # noqa: E402
from flwr.server import strategy  # noqa: E402

OLD = {
    "FedAvg": [{}],
    "FedProx": [{"proximal_mu": 0.1}],
    "FedMedian": [{}],
    "FaultTolerantFedAvg": [{}],
    "FedAvgM": [{}, {"server_learning_rate": 0.5, "server_momentum": 0.9}],
    "FedAdam": [{}, {"eta": 0.05, "beta_1": 0.8, "beta_2": 0.95, "tau": 0.001}],
    "FedYogi": [{}, {"eta": 0.05, "beta_1": 0.8, "beta_2": 0.95, "tau": 0.01}],
    "FedAdagrad": [{}, {"eta": 0.02, "tau": 0.01}],
    "QFedAvg": [{}, {"q_param": 1.5, "qffl_learning_rate": 0.3}],
}
NEW = {
    "FedTrimmedAvg": [{}, {"beta": 0.35}],
    "Krum": [{}, {"num_malicious_clients": 2}, {"num_malicious_clients": 1, "num_clients_to_keep": 3}],
    "Bulyan": [{}, {"num_malicious_clients": 1}],
}
CORRECTED = {"FedAdam": [{"bias_correction": True}, {"bias_correction": True, "eta": 0.05, "beta_1": 0.8, "beta_2": 0.95, "tau": 0.001}]}
STATEFUL = {"FedAvgM", "FedAdam", "FedYogi", "FedAdagrad"}
CASES = {"1.3.0": OLD, "1.11.1": NEW, "1.42.0": CORRECTED}[flwr.__version__]


def npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return base64.b64encode(out.getvalue()).decode()


def model(random, around=None, spread=1.0):
    if around is not None:
        return [(w + random.normal(0, spread, w.shape)).astype(w.dtype) for w in around]
    return [
        random.normal(0, 0.3, (5, 9)).astype(np.float32),
        random.normal(0, 0.05, (7,)).astype(np.float32),
        random.normal(0, 2, (3, 2)),
    ]


def run(name, conf, clients):
    random = np.random.default_rng(20260101)
    current = model(random)
    initial = [w.copy() for w in current]
    losses = []
    extra = {"initial_parameters": ndarrays_to_parameters(current)}
    if name == "QFedAvg":
        extra["evaluate_fn"] = lambda number, weights, config: (losses[-1], {})
    if name == "Bulyan":
        extra["to_keep"] = 0
    theirs = {field: value for field, value in conf.items() if field != "bias_correction"}
    made = getattr(strategy, name)(**theirs, **extra)
    rounds = []
    for number in range(1, 4 if name in STATEFUL else 2):
        losses.append(1.5 / number)
        updates, results = [], []
        for k in range(clients):
            trained = model(random, current, 0.02 * (k + 1))
            examples = int(random.integers(1, 5000))
            updates.append({"client": f"client-{k}", "examples": examples, "model": [npy(w) for w in trained]})
            status = Status(code=Code.OK, message="")
            results.append((None, FitRes(status, ndarrays_to_parameters(trained), examples, {})))
        if name == "QFedAvg":
            made.pre_weights = current
        answer, _ = made.aggregate_fit(number, results, [])
        current = [w.astype(i.dtype) for w, i in zip(parameters_to_ndarrays(answer), initial)]
        rounds.append({"loss": losses[-1], "updates": updates, "expected": [npy(w) for w in current]})
    return {"strategy": name, "conf": conf, "initial": [npy(w) for w in initial], "rounds": rounds}


cases = [run(name, conf, clients) for name, confs in CASES.items() for conf in confs for clients in (7, 8)]
with open(f"flower-{flwr.__version__}.json", "w") as out:
    json.dump({"flwr": flwr.__version__, "numpy": np.__version__, "cases": cases}, out)
    out.write("\n")
