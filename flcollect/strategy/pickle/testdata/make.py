"""Makes flower-VERSION.json: strategies of Flower as Python pickles them.

Run once with each version, and numpy: python make.py
Versions used: 1.3.0, and 1.41.0, which also has the strategies of serverapp.
"""

import base64
import importlib
import json
import os
import pickle

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import numpy as np  # noqa: E402
from flwr.common import ndarrays_to_parameters  # noqa: E402

INITIAL = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([0.5, -1.5])]
COMMON = {"fraction_fit": 0.5, "min_fit_clients": 3, "min_available_clients": 4, "accept_failures": False}
NODES = {"fraction_train": 0.5, "min_train_nodes": 3, "min_available_nodes": 4}
MADE = {
    "flwr.server.strategy": {
        "FedAvg": [{}, COMMON, {"initial_parameters": INITIAL}],
        "FaultTolerantFedAvg": [{"min_completion_rate_fit": 0.75, "min_completion_rate_evaluate": 0.25}],
        "FedMedian": [COMMON],
        "FedProx": [{"proximal_mu": 0.25}],
        "FedAvgM": [{"server_learning_rate": 0.5, "server_momentum": 0.9}],
        "FedAdam": [{"initial_parameters": INITIAL, "eta": 0.05}],
        "FedYogi": [{"initial_parameters": INITIAL, "beta_1": 0.8}],
        "FedAdagrad": [{"initial_parameters": INITIAL, "tau": 0.125}],
        "QFedAvg": [{"q_param": 1.5, "qffl_learning_rate": 0.25}],
        "FedTrimmedAvg": [{"beta": 0.25}],
        "Krum": [{"num_malicious_clients": 2, "num_clients_to_keep": 3}],
        "Bulyan": [{"num_malicious_clients": 1}],
        # What there is no equal of.
        "FedOpt": [{"initial_parameters": INITIAL}],
        "FedAvgAndroid": [{}],
        "FedXgbBagging": [{}],
    },
    "flwr.serverapp.strategy": {
        "FedAvg": [{}, NODES, {"weighted_by_key": "other"}],
        "FedMedian": [NODES],
        "FedProx": [{"proximal_mu": 0.25}],
        "FedAvgM": [{"server_learning_rate": 0.5, "server_momentum": 0.9}],
        "FedAdam": [{"eta": 0.05}],
        "FedYogi": [{"beta_1": 0.8}],
        "FedAdagrad": [{"tau": 0.125}],
        "FedTrimmedAvg": [{"beta": 0.25}],
        "Krum": [{"num_malicious_nodes": 2}],
        "MultiKrum": [{"num_malicious_nodes": 2, "num_nodes_to_select": 3}],
        "Bulyan": [{"num_malicious_nodes": 1}],
        # What there is no equal of.
        "QFedAvg": [{"client_learning_rate": 0.25}],
        "FedXgbCyclic": [{}],
    },
}


def cases():
    for module, classes in MADE.items():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for name, confs in classes.items():
            if not hasattr(found, name):
                continue
            for conf in confs:
                arguments = dict(conf)
                if "initial_parameters" in conf:
                    arguments["initial_parameters"] = ndarrays_to_parameters(conf["initial_parameters"])
                yield module, name, conf, getattr(found, name)(**arguments)


out = []
for module, name, conf, made in cases():
    for protocol in range(6 if conf else 5):
        out.append({
            "module": module, "class": name, "protocol": protocol,
            "conf": {k: v for k, v in conf.items() if k != "initial_parameters"},
            "initial": "initial_parameters" in conf,
            "pickle": base64.b64encode(pickle.dumps(made, protocol)).decode(),
        })
arrays = [{"protocol": p, "pickle": base64.b64encode(pickle.dumps(
    [INITIAL[0], INITIAL[1], np.asfortranarray(INITIAL[0]), INITIAL[0].astype(">f4"), np.array(7)], p)).decode()} for p in range(6)]


def weigh(metrics):
    return {}


def load(*_):
    return os.system


class Exploit:
    def __reduce__(self):
        return os.system, ("touch exploited",)


def other(name, value):
    for protocol in range(6):
        others.append({"name": name, "protocol": protocol, "pickle": base64.b64encode(pickle.dumps(value, protocol)).decode()})


others = []
first = importlib.import_module("flwr.server.strategy")
other("function", first.FedAvg(evaluate_metrics_aggregation_fn=weigh))
other("exploit", Exploit())
other("exploit inside", first.FedAvg(on_fit_config_fn=Exploit()))
other("no strategy", {"fraction_fit": 1.0})
other("a class", first.FedAvg)
loop = first.FedAvg()
loop.initial_parameters = loop
other("a strategy in itself", loop)

with open(f"flower-{flwr.__version__}.json", "w") as file:
    json.dump({"numpy": np.__version__, "cases": out, "arrays": arrays, "others": others}, file, indent=0)
    file.write("\n")
