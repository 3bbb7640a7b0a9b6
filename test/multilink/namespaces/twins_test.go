package namespaces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// conflict returns the conflict of an instance's only peer, at the client or at the server.
func (i *instance) conflict() string {
	type peer struct{ Conflict string }
	var status struct {
		Clients    []peer
		Attachment struct{ Peer peer }
	}
	i.do("GET", "/status", nil, &status)
	if len(status.Clients) == 1 {
		return status.Clients[0].Conflict
	}
	return status.Attachment.Peer.Conflict
}

// Two gateways from one disk image have one key.
func TestClients_withOneKeyAreNamedAtBothEnds(t *testing.T) {
	p := connect(t)
	twin := start(t, p.lab, netlab.Client, t.TempDir(), "-tap", "tap1")
	for n, l := range links {
		twin.do("POST", "/interfaces/add", map[string]any{"name": l.name, "kind": l.kind, "priority": n}, nil)
	}
	require.Empty(t, p.server.conflict())
	twin.do("POST", "/tunnel/attach", p.provisioned, nil)
	const twice = "another instance uses the key of this "
	await(t, "the server to name the conflict", func() bool { return len(p.server.conflict()) > 0 })
	require.Contains(t, p.server.conflict(), twice+"peer")
	await(t, "a client to name the conflict", func() bool { return p.client.conflict()+twin.conflict() != "" })
	require.Contains(t, p.client.conflict()+twin.conflict(), twice+"one")
}
