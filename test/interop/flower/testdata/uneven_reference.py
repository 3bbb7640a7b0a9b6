"""Has Flower's own server conduct cases of uneven.py: python uneven_reference.py FOLDER

FOLDER/cases.json has the cases. Server and FedAvg are those of the installed Flower, the
clients are called in this process. For each case it writes FOLDER/CASE-initial.npz,
FOLDER/CASE-flower.npz with Flower's final weights, and FOLDER/CASE-exact.npz with those of a
server that averages in 64 bits and rounds to the types of the model once a round. In a
case with an attack, all clients of these are honest. FOLDER/lengths.json has the median of
the lengths of the honest updates of the first round, with and without layers of whole
numbers, by the names of the cases.
"""

import json
import os
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import numpy as np  # noqa: E402
import uneven  # noqa: E402
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays  # noqa: E402
from flwr.server import Server, SimpleClientManager  # noqa: E402
from flwr.server.client_proxy import ClientProxy  # noqa: E402
from flwr.server.strategy import FedAvg  # noqa: E402


class Proxy(ClientProxy):
    def __init__(self, client):
        super().__init__(cid=str(client.number))
        self.client = client

    def fit(self, ins, *rest, **options):
        layers, examples = self.client.fit(parameters_to_ndarrays(ins.parameters))
        return FitRes(Status(Code.OK, ""), ndarrays_to_parameters(layers), examples, {})

    def evaluate(self, *rest, **options):
        raise NotImplementedError("there is no evaluation")

    get_parameters = get_properties = reconnect = evaluate


def flower(case):
    manager = SimpleClientManager()
    for number in range(case["clients"]):
        manager.register(Proxy(uneven.Client(case, number)))
    everyone = {"min_fit_clients": case["clients"], "min_available_clients": case["clients"], "min_evaluate_clients": case["clients"]}
    strategy = FedAvg(fraction_evaluate=0.0, initial_parameters=ndarrays_to_parameters(uneven.initial(case)), **everyone)
    server = Server(client_manager=manager, strategy=strategy)
    server.fit(case["rounds"], None)
    return parameters_to_ndarrays(server.parameters)


def length(change):
    return float(np.sqrt(sum(np.sum(np.square(layer)) for layer in change)))


def exact(case):
    model, lengths = uneven.initial(case), None
    clients = [uneven.Client(case, number) for number in range(case["clients"])]
    for _ in range(case["rounds"]):
        answers = [client.fit(model) for client in clients]
        total = sum(examples for _, examples in answers)
        if lengths is None:
            ways = [[a.astype(np.float64) - b for a, b in zip(layers, model)] for layers, _ in answers]
            lengths = {"floats": float(np.median([length(way[:2]) for way in ways])),
                       "whole": float(np.median([length(way[2:]) for way in ways]))}
        made = [sum(n * layers[i].astype(np.longdouble) for layers, n in answers) / total for i in range(len(model))]
        model = [np.asarray(np.rint(m) if w.dtype.kind == "i" else m).astype(w.dtype) for m, w in zip(made, model)]
    return model, lengths


folder = sys.argv[1]
with open(os.path.join(folder, "cases.json")) as file:
    cases = json.load(file)
lengths = {}
for case in cases:
    honest = {**case, "attack": ""}
    base = os.path.join(folder, case["name"])
    np.savez(base + "-initial.npz", *uneven.initial(case))
    weights, lengths[case["name"]] = exact(honest)
    np.savez(base + "-exact.npz", *weights)
    if not case["attack"]:
        np.savez(base + "-flower.npz", *flower(case))
with open(os.path.join(folder, "lengths.json"), "w") as file:
    json.dump(lengths, file)
