"""Writes what Flower itself makes of the messages below: python3 vectors.py FOLDER

It runs with Flower 1.13 and later, one release after the other, and writes vectors-VERSION.json: the
protobuf form of each message, and from release 1.20 on its objects.
"""

import base64
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

RELEASE = version("flwr")
NUMBER = tuple(int(part) for part in RELEASE.split(".")[:2])

from flwr.common import serde  # noqa: E402

if NUMBER >= (1, 17):
    from flwr.common import ArrayRecord, ConfigRecord, MetricRecord, RecordDict
else:
    from flwr.common.record import ConfigsRecord as ConfigRecord
    from flwr.common.record import MetricsRecord as MetricRecord
    from flwr.common.record import ParametersRecord as ArrayRecord
    from flwr.common.record import RecordSet

if NUMBER >= (1, 42):
    from flwr.app import Array, Error, Message, Metadata
    from flwr.app.message import make_message
elif NUMBER >= (1, 17):
    from flwr.common import Array, Error, Message, Metadata
    from flwr.common.message import make_message
else:
    from flwr.common import Error, Message, Metadata
    from flwr.common.record import Array
    from flwr.common.record.conversion_utils import array_from_numpy


def array(value):
    return array_from_numpy(value) if NUMBER < (1, 17) else Array(value)


def arrays(named):
    record = ArrayRecord()
    for name, value in named.items():
        record[name] = value
    return record


def content(arrays_, metrics, configs):
    if NUMBER < (1, 17):
        return RecordSet(arrays_, metrics, configs)
    made = RecordDict()
    for group in (arrays_, metrics, configs):
        for name, record in group.items():
            made[name] = record
    return made


def message(kind, content=None, error=None, answers=""):
    reply = "reply_to_message" if NUMBER < (1, 17) else "reply_to_message_id"
    numbers = dict(
        run_id=2**63 + 5, message_id="", src_node_id=1, dst_node_id=2**64 - 3, group_id="4", ttl=1800.5, message_type=kind
    )
    numbers[reply] = answers
    if NUMBER >= (1, 17):
        numbers["created_at"] = 1_700_000_000.25
        return make_message(metadata=Metadata(**numbers), content=content, error=error)
    made = Message(Metadata(**numbers), content=content, error=error)
    made.metadata.created_at = 1_700_000_000.25
    return made


big = np.arange((11 << 20) // 4, dtype=np.float32)
MESSAGES = {
    "empty": message("query", content({}, {}, {})),
    "train": message(
        "train",
        content(
            {
                "arrays": arrays(
                    {
                        "conv.weight": array(np.arange(6, dtype=np.float32).reshape(2, 3)),
                        "gr\u00f6\u00dfe\n\"\\\U0001f33b\x7f": array(np.array([True, False])),
                        "scalar": array(np.array(1.5)),
                        "again": array(np.arange(6, dtype=np.float32).reshape(2, 3)),
                        "none": array(np.zeros((0, 3), dtype=np.int64)),
                        "steps": array(np.array(7, dtype=np.int64)),
                    }
                )
            },
            {"metrics": MetricRecord({"loss": 0.0, "num-examples": 17, "least": -(2**63), "losses": [0.5, 0.25], "ids": [1, -1]})},
            {
                "config": ConfigRecord(
                    {
                        "server-round": 3,
                        "lr": 0.1,
                        "on": True,
                        "off": False,
                        "text": "",
                        "more": "\u00e9\u4e2d",
                        "raw": b"\x00\xff",
                        "most": 2**64 - 1,
                        "flags": [True, False],
                        "words": ["a", ""],
                        "blobs": [b"", b"1"],
                        "large": [2**63, 1],
                        "zero": 0,
                        "nothing": [],
                    }
                ),
                "empty": ConfigRecord({}),
            },
        ),
    ),
    "failed": message("evaluate.local", error=Error(2, "ValueError: no data"), answers="ab" * 32),
    "chunks": message(
        "train",
        content({"arrays": arrays({"big": array(big), "zeros": array(np.zeros((12 << 20) // 8))})}, {}, {}),
    ),
}


def encoded(data):
    return base64.b64encode(data).decode()


def main(folder):
    made = {"release": RELEASE, "messages": {}}
    for name, each in MESSAGES.items():
        vector = made["messages"][name] = {}
        if name != "chunks":
            vector["message"] = encoded(serde.message_to_proto(each).SerializeToString(deterministic=True))
            if NUMBER < (1, 15):
                vector["task"] = encoded(serde.message_to_taskins(each).SerializeToString(deterministic=True))
        if NUMBER >= (1, 20):
            if NUMBER >= (1, 30):
                from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
            else:
                from flwr.common.inflatable import get_all_nested_objects, get_object_tree

            nested = get_all_nested_objects(each)
            vector["objects"] = list(nested)
            vector["tree"] = encoded(get_object_tree(each).SerializeToString(deterministic=True))
            if name != "chunks":
                vector["contents"] = [encoded(each.deflate()) for each in nested.values()]
    path = Path(folder) / f"vectors-{RELEASE}.json"
    path.write_text(json.dumps(made, indent=1) + "\n")


main(sys.argv[1])
