package gateway

import (
	"log/slog"
)

// account keeps a request that has failed, and writes the line of the access log. It has the path
// without the query, since queries may hold secrets, and no header field.
func (x *Exchange) account() {
	why := x.failureReason()
	log := x.gateway.options.AccessLog
	level := slog.LevelInfo
	if why != "" {
		level = slog.LevelWarn
	} else if log == nil {
		return
	}
	logs := log != nil && log.Enabled(x.request.Context(), level)
	if !logs && why == "" {
		return
	}
	f := x.newFailure(why)
	if why != "" {
		x.gateway.failures.add(f)
	}
	if !logs {
		return
	}
	attributes := make([]slog.Attr, 0, 20)
	text := func(name, value string) {
		if value != "" {
			attributes = append(attributes, slog.String(name, value))
		}
	}
	text("id", f.ID)
	text("reason", string(f.Reason))
	text("plugin", f.Plugin)
	text("client", f.Client)
	text("method", f.Method)
	text("host", f.Host)
	text("path", f.Path)
	attributes = append(attributes, slog.Int("status", f.Status), slog.Int64("bytes", x.sent), slog.Duration("total", f.Total))
	text("service", f.Service)
	text("route", f.Route)
	text("consumer", f.Consumer)
	text("subject", f.Subject)
	if f.Peer != "" {
		attributes = append(attributes, slog.String("peer", f.Peer), slog.Duration("upstream", x.timing.Upstream))
	}
	text("error", f.Error)
	log.LogAttrs(x.request.Context(), level, "request", attributes...)
}
