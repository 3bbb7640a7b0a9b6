package devidp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/storage"
)

const (
	portal   = "http://portal.example:8999"
	password = "correct horse"
)

// demo is the demonstration realm with passwords and secrets that tests know.
func demo() devidp.Realm {
	realm := devidp.Demo(portal, "http://gateway.example:8100")
	for i := range realm.Users {
		realm.Users[i].Password = password
	}
	for i := range realm.Clients {
		if !realm.Clients[i].Public {
			realm.Clients[i].Secret = "secret of " + realm.Clients[i].ID
		}
	}
	return realm
}

// serve opens a provider and serves it.
func serve(t *testing.T, change func(*devidp.Config)) (*devidp.Provider, oidctest.Realm) {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	c := devidp.Config{BaseURL: server.URL + "/auth", Realm: demo(), Documents: storage.NewMemoryDocuments(),
		TokensPerSecond: -1, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	p, err := devidp.Open(t.Context(), c)
	require.NoError(t, err)
	handler = p.Handler()
	return p, oidctest.Realm{Issuer: p.Issuer(), Secret: "secret of private-backend", GatewaySecret: "secret of kong",
		Password: password, Portal: portal}
}

func TestProvider_passesTheSuite(t *testing.T) {
	_, realm := serve(t, nil)
	oidctest.Run(t, realm)
}
