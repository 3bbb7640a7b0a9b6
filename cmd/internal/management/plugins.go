package management

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

// sharedKinds returns the plugins of a gateway that shares the counts of rate limits and the
// secret of cookies with all others of the store.
func (m *Management) sharedKinds(ctx context.Context, docs storage.Documents, registry *prometheus.Registry) ([]gateway.Kind, error) {
	secret, err := admin.Secret(ctx, docs)
	if err != nil {
		return nil, err
	}
	m.counts, err = plugin.NewCounts(plugin.CountsConfig{Documents: storage.Prefixed(docs, "limits/"), Default: m.config.Shared,
		Logger: m.config.Logger})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(m.counts)
	return plugin.SharedKinds(plugin.Options{Counts: m.counts, Secret: func() string { return secret }}), nil
}
