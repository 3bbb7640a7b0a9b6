"""Has Flower's own server train network.py: python reference.py FOLDER

FOLDER/cases.json says what. Server, strategies, client manager and sampling are
those of the installed Flower; its clients are called in this process instead of
over the network. It writes FOLDER/initial.npz, FOLDER/CASE-K.npz with the final
weights of the K-th run of a case, and FOLDER/history.json with its last loss and
accuracy.

python reference.py strategies lists the strategies that this Flower has.
"""

import importlib
import json
import os
import pkgutil
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import network  # noqa: E402
import numpy as np  # noqa: E402
from flwr.common import Code, EvaluateRes, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays  # noqa: E402
from flwr.server import Server, SimpleClientManager, strategy  # noqa: E402
from flwr.server.client_proxy import ClientProxy  # noqa: E402

FINE = Status(Code.OK, "")


def strategies():
    """The strategy classes by their names; 1.3.0 has some that its package does not show."""
    modules = [importlib.import_module(f"{strategy.__name__}.{each.name}") for each in pkgutil.iter_modules(strategy.__path__)]
    return {name: value for module in modules for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, strategy.Strategy)}


class Proxy(ClientProxy):
    def __init__(self, number, clients):
        super().__init__(cid=str(number))
        self.number, self.clients = number, clients

    def fit(self, ins, *rest, **options):
        layers, config = parameters_to_ndarrays(ins.parameters), ins.config
        loss = network.common_loss(layers, self.clients)
        trained, examples = network.train(
            layers, self.number, config["epochs"], config["learning_rate"], config.get("proximal_mu", 0.0))
        return FitRes(FINE, ndarrays_to_parameters(trained), examples, {"loss": loss})

    def evaluate(self, ins, *rest, **options):
        loss, examples, accuracy = network.evaluate(parameters_to_ndarrays(ins.parameters), self.number)
        return EvaluateRes(FINE, float(np.float32(loss)), examples, {"accuracy": accuracy})  # as the message has it

    def get_parameters(self, *rest, **options):
        raise NotImplementedError("the strategy has the initial parameters")

    get_properties = reconnect = get_parameters


def weighted(metrics):
    total = sum(examples for examples, _ in metrics)
    return {key: sum(examples * each[key] for examples, each in metrics) / total for key in metrics[0][1]}


def run(case):
    clients = case["clients"]
    initial = network.initial(case["counter"])
    if case["start"] == "client":
        initial = network.other_start()
    conf = {**case["conf"], "initial_parameters": ndarrays_to_parameters(initial),
            "on_fit_config_fn": lambda number: dict(case["client_conf"]),
            "fit_metrics_aggregation_fn": weighted, "evaluate_metrics_aggregation_fn": weighted}
    name = case["strategy"]
    if name == "MultiKrum":
        name = "Krum"
    elif name == "avg":
        name = "FedAvg"
    elif name == "QFedAvg":
        conf["evaluate_fn"] = lambda number, layers, config: (network.common_loss(layers, clients), {})
    elif name == "Bulyan":
        conf["to_keep"] = 0  # otherwise handed on with a name that its Krum does not know
    manager = SimpleClientManager()
    for number in range(clients):
        manager.register(Proxy(number, clients))
    server = Server(client_manager=manager, strategy=strategies()[name](**conf))
    history = server.fit(case["rounds"], None)
    if isinstance(history, tuple):
        history = history[0]
    final = {"loss": history.losses_distributed[-1][1], "accuracy": history.metrics_distributed["accuracy"][-1][1]}
    return parameters_to_ndarrays(server.parameters), final


if sys.argv[1] == "strategies":
    print(json.dumps(sorted(strategies())))
    sys.exit()
folder = sys.argv[1]
with open(os.path.join(folder, "cases.json")) as file:
    cases = json.load(file)
ends = {}
for case in cases:
    ends[case["name"]] = []
    for run_number in range(case["runs"]):
        weights, end = run(case)
        ends[case["name"]].append(end)
        np.savez(os.path.join(folder, f"{case['name']}-{run_number}.npz"), *weights)
np.savez(os.path.join(folder, "initial.npz"), *network.initial(cases[0]["counter"]))
with open(os.path.join(folder, "history.json"), "w") as file:
    json.dump(ends, file)
