"""A client that computes next to nothing: HOST:PORT NUMBER CLIENTS BYTES LAYERS mean|still.

It adds its number to every parameter and says that it has as many examples, so that the model is known before each
round, which is checked at some places: it is the mean of the updates, or still the first one. For each instruction to fit it prints when it came, by the clock that all
processes of the machine share."""

import os
import sys
import time

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import numpy as np  # noqa: E402

address, number, clients, size, layers = sys.argv[1], *map(int, sys.argv[2:6])
numbers = range(1, clients + 1)
step = {"mean": sum(n * n for n in numbers) / sum(numbers), "still": 0}[sys.argv[6]]
initial = np.random.default_rng(1).standard_normal(size // layers // 4, dtype=np.float32)
places = slice(None, None, max(1, len(initial) // 1000))


class Client(flwr.client.NumPyClient):
    fits = 0
    evaluations = 0

    def check(self, parameters, rounds):
        assert len(parameters) == layers, len(parameters)
        for layer in parameters:
            assert layer.dtype == np.float32 and layer.shape == initial.shape, (layer.dtype, layer.shape)
            np.testing.assert_allclose(layer[places], initial[places] + rounds * step, rtol=1e-4, atol=1e-4)

    def get_parameters(self, config):
        return [initial] * layers

    def fit(self, parameters, config):
        print("fit", time.monotonic(), flush=True)
        self.check(parameters, self.fits)
        self.fits += 1
        for layer in parameters:
            layer += number
        return parameters, number, {}

    def evaluate(self, parameters, config):
        self.evaluations += 1
        self.check(parameters, self.evaluations)
        return 0.5, number, {}


client, begin = Client(), time.process_time()
flwr.client.start_numpy_client(server_address=address, client=client)
print("end", client.fits, client.evaluations, time.process_time() - begin, flush=True)
