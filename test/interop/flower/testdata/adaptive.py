"""Has Flower's own adaptive clipping say its clip norms: python adaptive.py CONF ROUNDS

CONF are arguments of DPFedAvgAdaptive as JSON, ROUNDS what clients said in each round:
lists of 1 for an update that was within the norm and 0 for one that was not. It prints
the norms that it would tell the clients, the first of them before any round, without
noise on their count.
"""

import json
import os
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import numpy as np  # noqa: E402
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters  # noqa: E402
from flwr.server.strategy import FedAvg  # noqa: E402
from flwr.server.strategy.dpfedavg_adaptive import DPFedAvgAdaptive  # noqa: E402

made = DPFedAvgAdaptive(FedAvg(), noise_multiplier=0, clip_count_stddev=0, **json.loads(sys.argv[1]))
norms = [made.clip_norm]
for number, bits in enumerate(json.loads(sys.argv[2]), 1):
    model = ndarrays_to_parameters([np.zeros(1)])
    answers = [(None, FitRes(Status(Code.OK, ""), model, 1, {"dpfedavg_norm_bit": bool(bit)})) for bit in bits]
    made.aggregate_fit(number, answers, [])
    norms.append(made.clip_norm)
print(json.dumps(norms))
