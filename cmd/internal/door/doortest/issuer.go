package doortest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/storage"
)

// tokens are the users of an issuer: anna is a reader, boris an operator, and dora has a
// role that the door does not have.
type tokens struct {
	t      *testing.T
	issuer string
}

const (
	client   = "door"
	password = "a password for tests"
)

// issue starts an issuer.
func issue(t *testing.T) tokens {
	t.Helper()
	mux := http.NewServeMux()
	at := httptest.NewServer(mux)
	t.Cleanup(at.Close)
	provider, err := devidp.Open(t.Context(), devidp.Config{
		BaseURL: at.URL, Documents: storage.NewMemoryDocuments(), TokensPerSecond: -1,
		Realm: devidp.Realm{Name: "door", Clients: []devidp.Client{{ID: client, Public: true, Password: true}}, Users: []devidp.User{
			{Name: "anna", Password: password, Roles: []string{"sales", "reader"}},
			{Name: "boris", Password: password, Roles: []string{"reader", "operator"}},
			{Name: "dora", Password: password, Roles: []string{"sales"}},
		}},
	})
	require.NoError(t, err)
	mux.Handle("/", provider.Handler())
	return tokens{t, provider.Issuer()}
}

// of returns an access token of a user.
func (i tokens) of(user string) string {
	i.t.Helper()
	answer, err := http.PostForm(i.issuer+"/protocol/openid-connect/token",
		url.Values{"grant_type": {"password"}, "client_id": {client}, "username": {user}, "password": {password}})
	require.NoError(i.t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	require.Equal(i.t, http.StatusOK, answer.StatusCode)
	var body struct {
		Token string `json:"access_token"`
	}
	require.NoError(i.t, json.NewDecoder(answer.Body).Decode(&body))
	return body.Token
}
