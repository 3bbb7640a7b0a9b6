package gateway

import (
	"log/slog"
)

// logAccess writes the line of a request. It has the path without the query,
// since queries may hold secrets, and no header field.
func (x *Exchange) logAccess() {
	log := x.gateway.options.AccessLog
	if log == nil {
		return
	}
	attributes := make([]slog.Attr, 0, 12)
	attributes = append(attributes,
		slog.String("id", x.id), slog.String("client", x.client.String()), slog.String("method", x.request.Method),
		slog.String("host", x.host), slog.String("path", x.path), slog.Int("status", x.response.Status),
		slog.Int64("bytes", x.sent), slog.Duration("total", x.timing.Total))
	if x.route != nil {
		attributes = append(attributes, slog.String("route", x.route.entity.Name))
	}
	if x.peer != "" {
		attributes = append(attributes, slog.String("peer", x.peer), slog.Duration("upstream", x.timing.Upstream))
	}
	if x.identity.Consumer != nil {
		attributes = append(attributes, slog.String("consumer", x.identity.Consumer.ID))
	}
	if x.failure != nil {
		attributes = append(attributes, slog.String("error", x.failure.Error()))
	}
	log.LogAttrs(x.request.Context(), slog.LevelInfo, "request", attributes...)
}
