package stores

import (
	"log/slog"
	"net"
)

// KeepOpen is keepOpen, for tests.
func KeepOpen(listener net.Listener, log *slog.Logger) net.Listener { return keepOpen(listener, log) }
