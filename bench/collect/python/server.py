"""Flower's own server: HOST:PORT ROUNDS CLIENTS. Averages, as all its settings have it, with every client in every
round. Prints "finished" at the end of the training and stays until its input ends, so that its memory can be asked for."""

import os
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402

address, rounds, clients = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
history = flwr.server.start_server(
    server_address=address,
    config=flwr.server.ServerConfig(num_rounds=rounds),
    strategy=flwr.server.strategy.FedAvg(min_fit_clients=clients, min_evaluate_clients=clients, min_available_clients=clients),
)
assert len(history.losses_distributed) == rounds, history
print("finished", flush=True)
sys.stdin.read()
