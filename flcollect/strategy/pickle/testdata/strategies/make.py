"""Makes the pickled strategies beside it: python make.py, with flwr 1.3.0, 1.11.1 and 1.42.0 one after another."""

import os
import pickle

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import flwr.server.strategy as flower  # noqa: E402
import numpy as np  # noqa: E402
from flwr.common import ndarrays_to_parameters  # noqa: E402

BEGIN = {"initial_parameters": ndarrays_to_parameters([np.zeros((2, 3), np.float32)])}
COMMON = {"min_fit_clients": 3, "min_evaluate_clients": 300, "min_available_clients": 70_000, "fraction_fit": 0.5}


def average(metrics):
    return {}


def configure(server_round):
    return {}


class Own(flower.FedAvg):
    pass


def keep(name, strategy, protocol=4):
    with open(os.path.join(os.path.dirname(__file__), name + ".pkl"), "wb") as file:
        pickle.dump(strategy, file, protocol=protocol)


if hasattr(flwr, "serverapp"):
    from flwr.serverapp.strategy import FedAdam

    nodes = {"min_train_nodes": 3, "min_evaluate_nodes": 300, "min_available_nodes": 70_000, "fraction_train": 0.5}
    keep("FedAdam-app", FedAdam(eta=0.2, **nodes))
elif hasattr(flower, "Bulyan"):
    keep("FedTrimmedAvg", flower.FedTrimmedAvg(beta=0.1, **COMMON))
    keep("Krum", flower.Krum(num_malicious_clients=1, num_clients_to_keep=2, **COMMON))
    keep("Bulyan", flower.Bulyan(num_malicious_clients=1, **COMMON))
else:
    for protocol in range(2, 6):
        keep(f"FedAvg-{protocol}", flower.FedAvg(accept_failures=False, fit_metrics_aggregation_fn=average, **COMMON), protocol)
    keep("FedMedian", flower.FedMedian(**COMMON))
    keep("FaultTolerantFedAvg", flower.FaultTolerantFedAvg(min_completion_rate_fit=0.7, min_completion_rate_evaluate=0.8, **COMMON))
    keep("FedAvgM", flower.FedAvgM(server_learning_rate=0.5, server_momentum=0.9, **COMMON))
    keep("QFedAvg", flower.QFedAvg(q_param=0.3, qffl_learning_rate=0.2, **COMMON))
    keep("FedProx", flower.FedProx(proximal_mu=0.5, **COMMON))
    keep("FedAdam", flower.FedAdam(eta=0.2, **BEGIN, **COMMON))
    keep("FedYogi", flower.FedYogi(eta=0.2, **BEGIN, **COMMON))
    keep("FedAdagrad", flower.FedAdagrad(eta=0.2, **BEGIN, **COMMON))
    keep("refused-function", flower.FedAvg(on_fit_config_fn=configure))
    keep("refused-own", Own())
    keep("refused-number", flower.FedAvg(fraction_fit=np.float64(0.5)))
    keep("refused-list", [1, 2.5, "x", b"y", {"a": None}, (True, -1, 2**70)])
