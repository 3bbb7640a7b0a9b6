package management

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// droppedLines counts the requests that have no line in the access log.
func droppedLines(log *server.AccessLog) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "gateway_access_log_dropped_total", Help: "Requests that should have a line in the access log and have none.",
	}, func() float64 { return float64(log.Dropped()) })
}

// clientSecret returns the secret of the gateway's client at a provider, to which definitions refer as
// {vault://env/apimanager-client-secret}.
func clientSecret(secret, issuer, discovery string) plugin.ClientSecret {
	own := plugin.ClientSecret{Variable: "APIMANAGER_CLIENT_SECRET", Secret: secret, Issuers: []string{issuer}}
	if at := strings.TrimSuffix(discovery, oidc.WellKnown); discovery != "" && at != issuer {
		own.Issuers = append(own.Issuers, at)
	}
	return own
}

// sharedKinds returns the plugins of a gateway that shares the counts of rate limits and the
// secret of cookies with all others of the store.
func (m *Management) sharedKinds(ctx context.Context, docs storage.Documents, secrets Credentials,
	registry *prometheus.Registry,
) ([]gateway.Kind, error) {
	secret, err := admin.Secret(ctx, docs)
	if err != nil {
		return nil, err
	}
	m.counts, err = plugin.NewCounts(plugin.CountsConfig{Documents: storage.Prefixed(docs, "limits/"), Default: m.env.Stores.Shared,
		Logger: m.log})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(m.counts)
	ofClient := secrets.ClientSecret
	if m.provider == nil {
		ofClient = m.Secrets.ClientSecret // what was kept is of the provider inside
	}
	return plugin.SharedKinds(plugin.Options{Counts: m.counts, Secret: func() string { return secret },
		ClientSecrets: []plugin.ClientSecret{clientSecret(ofClient, m.Issuer, m.discovery)}}), nil
}
