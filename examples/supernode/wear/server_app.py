"""flwr build demands a ServerApp. The collector takes its place and never runs this one."""

from flwr.serverapp import ServerApp

app = ServerApp()
