package devidp_test

import (
	"testing"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

func TestProvider_passesTheSuiteOverServers(t *testing.T) {
	documents := storage.Prefixed(mongotest.Start(t).Open(t).Documents(), "idp/")
	_, realm := serve(t, func(c *devidp.Config) { c.Documents = documents })
	oidctest.Run(t, realm)
}
