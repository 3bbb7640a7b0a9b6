"""The server is the collector, which runs no ServerApp. `flwr build` wants one all the same."""

from flwr.serverapp import ServerApp

app = ServerApp()
