"""A Flower client for the tests: fits by adding its number, evaluates with it.

python client.py HOST:PORT NUMBER [ca.pem]

FLOWER_TOKEN in the environment is the token that it sends.
"""

import os
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import grpc  # noqa: E402
import numpy as np  # noqa: E402

NUMBER = int(sys.argv[2])


class Client(flwr.client.NumPyClient):
    def get_properties(self, config):
        return {"number": NUMBER, "python": True, "name": "python", "half": 0.5, "raw": b"\x00\xff", **config}

    def get_parameters(self, config):
        cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        return [cube, np.asfortranarray(cube[0]), np.array(3), np.array([7], np.int64), np.array([1.5], ">f4"),
                np.array([True, False]), np.array([0.25], np.float16)]

    def fit(self, parameters, config):
        assert config["epochs"] == 3 and config["learning_rate"] == 0.5 and config["verbose"] is True, config
        assert config["words"] == "Grüße" and config["raw"] == b"\x00\x01", config
        assert parameters[0].flags["C_CONTIGUOUS"] and parameters[0].dtype == np.float32
        return [p + NUMBER for p in parameters], 10 * NUMBER, {"loss": float(NUMBER), "count": len(parameters)}

    def evaluate(self, parameters, config):
        return float(np.abs(parameters[0]).sum()), 5, {"accuracy": 0.5, "dtype": str(parameters[0].dtype)}




class Token(grpc.StreamStreamClientInterceptor):
    """Sends a token with every stream."""

    def __init__(self, token):
        self.entry = ("authorization", "Bearer " + token)

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(details._replace(metadata=[*(details.metadata or ()), self.entry]), requests)


def with_token(make_channel, token):
    return lambda *args, **options: grpc.intercept_channel(make_channel(*args, **options), Token(token))


if os.environ.get("FLOWER_TOKEN"):
    grpc.insecure_channel = with_token(grpc.insecure_channel, os.environ["FLOWER_TOKEN"])
    grpc.secure_channel = with_token(grpc.secure_channel, os.environ["FLOWER_TOKEN"])

options = {"root_certificates": open(sys.argv[3], "rb").read()} if len(sys.argv) > 3 else {}
flwr.client.start_numpy_client(server_address=sys.argv[1], client=Client(), **options)
