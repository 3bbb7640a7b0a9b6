package devidp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/upgrade"
)

func TestProvider_keepsWhatANewerVersionStored(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	with := func(password string) func(*devidp.Config) {
		return func(c *devidp.Config) {
			c.Documents, c.Realm = docs, devidp.Demo(portal, portal)
			for i := range c.Realm.Users {
				c.Realm.Users[i].Password = password
			}
		}
	}
	first := open(t, with(password))
	token := answerFields(t, login(first, "demouser", password, "10.0.0.1"))
	places := []string{"signing", "signing#keys/*", "user/*", "client/*", "session/*", "session/*#grants/*"}
	upgrade.AddNewerTo(t, docs, places...)

	second := open(t, with("another "+password))
	require.NoError(t, second.RotateKeys(t.Context()))
	refreshed := post(second, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access",
		"refresh_token", token["refresh_token"].(string))
	require.Equal(t, 200, refreshed.Code, refreshed.Body)
	require.Equal(t, 200, login(second, "demouser", "another "+password, "10.0.0.1").Code)
	upgrade.RequireNewerIn(t, docs, "signing", "user/*", "client/*")
	doc, err := docs.Get(t.Context(), "signing")
	require.NoError(t, err)
	require.Equal(t, 2, upgrade.CountNewer(string(doc.Data)), "the document and the old key: %s", doc.Data)
	grants := 0
	for doc, err := range storage.All(t.Context(), docs, "session/") {
		require.NoError(t, err)
		grants += upgrade.CountNewer(string(doc.Data))
	}
	require.Equal(t, 2, grants, "the session that went on, and its grant")
}
