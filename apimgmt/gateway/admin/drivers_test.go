package admin_test

import (
	"testing"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

func TestStore_passesTheGatewaySuiteOverServers(t *testing.T) {
	database := mongotest.Start(t)
	gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
		s, _ := openStore(t, storage.Prefixed(database.Open(t).Documents(), "gateway/"))
		return s
	})
}
