package apimgmt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
)

func TestMemoryGateway_passesTheSuite(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) apimgmt.Gateway { return apimgmt.NewMemoryGateway([]string{"cors"}) })
	t.Run("any plugin", func(t *testing.T) {
		gatewaytest.Run(t, func(*testing.T) apimgmt.Gateway { return apimgmt.NewMemoryGateway(nil) })
	})
}

func TestGateway_embeddedPassesTheSuite(t *testing.T) {
	gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
		g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, g.Close()) })
		return embedded{g}
	})
}
