package plugin_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

// consumers are ada, who has two keys, and guest, who has none.
func consumers() entity.Config {
	return entity.Config{
		Consumers: []entity.Consumer{{Username: "ada", CustomID: "a-1"}, {Username: "guest"}},
		Keys: []entity.Key{{Key: "key-of-ada", Consumer: &entity.Ref{Name: "ada"}},
			{Key: "second-key-of-ada", Consumer: &entity.Ref{Name: "ada"}}},
	}
}

func keyStage(t *testing.T, config string, service http.Handler) *plugintest.Stage {
	t.Helper()
	return plugintest.NewStage(t, plugintest.Options{
		Kinds: plugin.Kinds(), Plugins: []entity.Plugin{{Name: "key-auth", Config: []byte(config)}}, Service: service, Config: consumers(),
	})
}

func ExampleKeyAuth() {
	_, err := plugin.KeyAuth().Compile(gateway.Setup{Config: []byte(`{"key_names":[]}`)})
	fmt.Println(err)
	// Output: config.key_names: at least one is required
}

func keyAuthSubject() plugintest.Subject {
	return plugintest.Subject{
		Kind: plugin.KeyAuth(), Config: consumers(),
		Valid: []string{`{}`, `{"key_names":["X-Key","k"],"hide_credentials":true,"key_in_body":true,"anonymous":"guest","realm":"a \"b\""}`},
		Invalid: map[string]string{
			`{"key_names":[]}`: "config.key_names", `{"key_names":["a b"]}`: "config.key_names", `{"key_names":["ü"]}`: "config.key_names",
			`{"key_in_header":false,"key_in_query":false}`: "config.key_in_header", `{"anonymous":1}`: "config.anonymous",
		},
	}
}

func TestKeyAuth_identifiesConsumers(t *testing.T) {
	s := keyStage(t, `{"key_names":["apikey","X-Key"]}`, echo())
	for _, a := range []plugintest.Answer{
		s.Do(http.MethodGet, "/", "", "apikey: key-of-ada"), s.Do(http.MethodGet, "/", "", "X-KEY: second-key-of-ada"),
		s.Do(http.MethodGet, "/?apikey=key-of-ada", ""), s.Do(http.MethodGet, "/?a=1&X-Key=key%2Dof-ada", ""),
	} {
		header := seen(t, a)
		require.Equal(t, "ada", header.Get("X-Consumer-Username"))
		require.Equal(t, "a-1", header.Get("X-Consumer-Custom-Id"))
		require.NotEmpty(t, header.Get("X-Consumer-Id"))
		require.NotEmpty(t, header.Get("X-Credential-Identifier"))
	}
}

func TestKeyAuth_refusesRequestsWithoutAValidKey(t *testing.T) {
	s := keyStage(t, `{"realm":"shop"}`, nil)
	for message, a := range map[string]plugintest.Answer{
		"No API key found in request": s.Do(http.MethodGet, "/", "", "X-Consumer-Username: ada"),
		"Unauthorized":                s.Do(http.MethodGet, "/", "", "apikey: key-of-eva"),
		"Duplicate API key found":     s.Do(http.MethodGet, "/?apikey=key-of-eva&apikey=key-of-ada", ""),
	} {
		require.Equal(t, http.StatusUnauthorized, a.Status, message)
		require.JSONEq(t, `{"message":"`+message+`"}`, a.Body)
	}
	require.Equal(t, `Key realm="shop"`, s.Do(http.MethodGet, "/", "").Header.Get("WWW-Authenticate"))
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodOptions, "/", "").Status)
	s = keyStage(t, `{"run_on_preflight":false}`, nil)
	require.Equal(t, http.StatusOK, s.Do(http.MethodOptions, "/", "").Status)
	s = keyStage(t, `{"key_in_query":false}`, nil)
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/?apikey=key-of-ada", "").Status)
}

func TestKeyAuth_hidesKeysFromTheService(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s|%s|%s|%d", r.Header.Get("apikey"), r.URL.RawQuery, body, r.ContentLength)
	})
	s := keyStage(t, `{"hide_credentials":true,"key_in_body":true}`, service)
	require.Equal(t, "|||0", s.Do(http.MethodGet, "/", "", "apikey: key-of-ada").Body)
	require.Equal(t, "|a=%201&&b=2||0", s.Do(http.MethodGet, "/?a=%201&&apikey=key-of-ada&b=2", "").Body)
	require.Equal(t, "||a=1&b=%20|9", s.Do(http.MethodPost, "/", "a=1&apikey=key-of-ada&b=%20",
		"Content-Type: application/x-www-form-urlencoded").Body)
	require.Equal(t, `||{"n":1.50}|10`, s.Do(http.MethodPost, "/", `{"n":1.50, "apikey":"key-of-ada"}`, "Content-Type: application/json").Body)
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodPost, "/", "apikey=key-of-ada", "Content-Type: text/plain").Status)
}

func TestKeyAuth_identifiesAnonymousCallers(t *testing.T) {
	s := keyStage(t, `{"anonymous":"guest"}`, echo())
	for _, line := range []string{"X-Nothing: 1", "apikey: wrong"} {
		header := seen(t, s.Do(http.MethodGet, "/", "", line))
		require.Equal(t, "guest", header.Get("X-Consumer-Username"))
		require.Equal(t, "true", header.Get("X-Anonymous-Consumer"))
		require.Empty(t, header.Get("X-Credential-Identifier"))
	}
	require.Equal(t, "ada", seen(t, s.Do(http.MethodGet, "/", "", "apikey: key-of-ada")).Get("X-Consumer-Username"))
	s = keyStage(t, `{"anonymous":"absent"}`, echo())
	require.Equal(t, http.StatusInternalServerError, s.Do(http.MethodGet, "/", "").Status)
}

func TestKeyAuth_requiresKeyAndTokenWhereBothAreSet(t *testing.T) {
	idp := newIssuer(t)
	s := plugintest.NewStage(t, plugintest.Options{
		Kinds: plugin.Kinds(), Service: echo(), Config: consumers(),
		Plugins: []entity.Plugin{{Name: "key-auth"}, {Name: "oidc", Config: []byte(idp.config(nil))}},
	})
	token := "Authorization: Bearer " + idp.token(t, nil)
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/", "", token).Status)
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/", "", "apikey: key-of-ada").Status)
	header := seen(t, s.Do(http.MethodGet, "/", "", "apikey: key-of-ada", token, "X-Userinfo: forged"))
	require.Equal(t, "ada", header.Get("X-Consumer-Username"), "the second plugin keeps what the first has set")
	require.Len(t, header["X-Userinfo"], 1)
	require.NotEqual(t, "forged", header.Get("X-Userinfo"))
}
