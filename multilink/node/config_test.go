package node_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

func TestOpen_namesTheFieldOfABadConfig(t *testing.T) {
	good := func() node.Config {
		return nodetest.NewConfig(node.Server, nodetest.NewPlane(), storage.NewMemoryDocuments()).Config
	}
	for want, change := range map[string]func(*node.Config){
		"Role":              func(c *node.Config) { c.Role = "both" },
		"Plane":             func(c *node.Config) { c.Plane = nil },
		"Documents":         func(c *node.Config) { c.Documents = nil },
		"Port.Name":         func(c *node.Config) { c.Port.Name = strings.Repeat("x", 16) },
		"Port.Addresses":    func(c *node.Config) { c.Role = node.Client },
		"Port.Addresses[0]": func(c *node.Config) { c.Port.Addresses[0] = c.Port.Addresses[0].Masked() },
		"MaxClients":        func(c *node.Config) { c.MaxClients = -1 },
	} {
		config := good()
		change(&config)
		_, err := node.Open(t.Context(), config)
		require.ErrorContains(t, err, "node: Config."+want+":")
	}
}
