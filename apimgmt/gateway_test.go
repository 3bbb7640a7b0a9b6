package apimgmt_test

import (
	"testing"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/storage"
)

func TestTheGatewayInMemoryKeepsTheContract(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) apimgmt.Gateway { return apimgmt.NewMemoryGateway([]string{"cors"}) })
	t.Run("any plugin", func(t *testing.T) {
		gatewaytest.Run(t, func(*testing.T) apimgmt.Gateway { return apimgmt.NewMemoryGateway(nil) })
	})
}

func TestTheEmbeddedGatewayKeepsTheContract(t *testing.T) {
	gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
		g, _ := embedded(t, storage.NewMemoryDocuments())
		return g
	})
}
