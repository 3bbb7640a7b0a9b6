package devidp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
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

// small is the demonstration realm with the two users that most tests have: each start hashes the
// password of every user, which takes its time on purpose.
func small() devidp.Realm {
	realm := demo()
	realm.Users = slices.DeleteFunc(realm.Users, func(u devidp.User) bool {
		return u.Name != "demouser" && u.Name != "demodeveloper"
	})
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
