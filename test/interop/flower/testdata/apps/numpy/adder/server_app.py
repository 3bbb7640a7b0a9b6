"""A bundle has a ServerApp; the collector takes its place, so this one is never run."""

try:
    from flwr.serverapp import ServerApp
except ImportError:
    from flwr.server import ServerApp

app = ServerApp()
