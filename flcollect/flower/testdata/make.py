"""Makes wire.json: messages as the protobuf classes of Flower write them. Run with flwr 1.3.0."""

import base64
import json
import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

from flwr.proto.transport_pb2 import ClientMessage, Parameters, Scalar, ServerMessage, Status  # noqa: E402

SCALARS = {"d": Scalar(double=0.5), "i": Scalar(sint64=-3), "t": Scalar(bool=True), "f": Scalar(bool=False),
           "s": Scalar(string="Grüße"), "e": Scalar(string=""), "r": Scalar(bytes=b"\x00\xff"), "z": Scalar(sint64=0)}
MODEL = Parameters(tensors=[b"first" * 200, b"", b"third"], tensor_type="numpy.ndarray")
FINE = Status(code=0, message="Success")


def scalars(field):
    for key, value in SCALARS.items():
        field[key].CopyFrom(value)


messages = {}


def add(name, message):
    messages[name] = base64.b64encode(message.SerializeToString(deterministic=True)).decode()


add("ReconnectIns", ServerMessage(reconnect_ins=ServerMessage.ReconnectIns(seconds=7)))
add("ReconnectIns for good", ServerMessage(reconnect_ins=ServerMessage.ReconnectIns()))
ins = ServerMessage.GetPropertiesIns()
scalars(ins.config)
add("GetPropertiesIns", ServerMessage(get_properties_ins=ins))
add("GetParametersIns", ServerMessage(get_parameters_ins=ServerMessage.GetParametersIns()))
ins = ServerMessage.FitIns(parameters=MODEL)
scalars(ins.config)
add("FitIns", ServerMessage(fit_ins=ins))
ins = ServerMessage.EvaluateIns(parameters=MODEL)
scalars(ins.config)
add("EvaluateIns", ServerMessage(evaluate_ins=ins))

add("DisconnectRes", ClientMessage(disconnect_res=ClientMessage.DisconnectRes(reason=1)))
res = ClientMessage.GetPropertiesRes(status=FINE)
scalars(res.properties)
add("PropertiesRes", ClientMessage(get_properties_res=res))
add("ParametersRes", ClientMessage(get_parameters_res=ClientMessage.GetParametersRes(status=FINE, parameters=MODEL)))
res = ClientMessage.FitRes(status=FINE, parameters=MODEL, num_examples=1234567)
scalars(res.metrics)
add("FitRes", ClientMessage(fit_res=res))
res = ClientMessage.EvaluateRes(status=Status(code=4, message="no"), loss=0.25, num_examples=-1)
scalars(res.metrics)
add("EvaluateRes", ClientMessage(evaluate_res=res))

with open("wire.json", "w") as out:
    json.dump(messages, out, indent=0)
    out.write("\n")
