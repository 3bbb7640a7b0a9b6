"""The server is the collector."""

from flwr.serverapp import ServerApp

app = ServerApp()
