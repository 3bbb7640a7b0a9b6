package plugin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func ExampleRequestTransformer() {
	_, err := plugin.RequestTransformer().Compile(gateway.Setup{Config: []byte(`{"add":{"headers":["Host:evil.example"]}}`)})
	fmt.Println(err)
	// Output: config.add.headers: "Host" is for the gateway to set
}

func requestTransformerSubject() plugintest.Subject {
	return plugintest.Subject{
		Kind: plugin.RequestTransformer(), Secret: "value-that-is-secret",
		Valid: []string{`{}`,
			`{"http_method":"POST","remove":{"headers":["X-A"],"querystring":["b"]},"replace":{"uri":"/v2/x",` +
				`"headers":["X-B:value-that-is-secret"]},"add":{"body":[]}}`},
		Invalid: map[string]string{
			`{"http_method":"get"}`: "config.http_method", `{"http_method":"TRACE"}`: "config.http_method",
			`{"replace":{"uri":"/a/../b"}}`: "config.replace.uri",
			`{"add":{"headers":["X-A"]}}`:   "config.add.headers", `{"remove":{"headers":["X-A:value-that-is-secret"]}}`: "config.remove.headers",
			`{"rename":{"headers":["a:b c"]}}`: "config.rename.headers", `{"rename":{"querystring":["a:"]}}`: "config.rename.querystring",
			`{"append":{"headers":["X-A:value-that-is-secret\r\nX-B: 1"]}}`:  "config.append.headers",
			`{"add":{"querystring":["a:$(headers.b)value-that-is-secret"]}}`: "config.add.querystring",
			`{"add":{"body":["a:b"]}}`:                                       "config.add.body",
			`{"add":{"headers":["Transfer-Encoding:chunked"]}}`:              "config.add.headers", `{"add":{"uri":"/"}}`: "config.uri",
		},
	}
}

func TestRequestTransformer_changesRequests(t *testing.T) {
	config := `{"http_method":"PUT","replace":{"uri":"/v2/x","headers":["X-Replaced:new","X-Absent:new"],
	"querystring":["replaced:a b","absent:1"]},
		"remove":{"headers":["x-removed"],"querystring":["removed"]},"rename":{"headers":["X-Old:x-new"],"querystring":["old:ne&w"]},
		"add":{"headers":["X-Added:1","X-There:2"],"querystring":["added:1","there:2"]},
		"append":{"headers":["X-There:3"],"querystring":["there:3"]}}`
	s := plugintest.NewStage(t, plugintest.Options{
		Kinds: plugin.Kinds(), Plugins: []entity.Plugin{{Name: "request-transformer", Config: []byte(config)}},
		Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header["Asked"] = []string{r.Method, r.URL.RequestURI()}
			_ = json.NewEncoder(w).Encode(r.Header)
		}),
	})
	header := seen(t, s.Do(http.MethodGet, "/a?removed=1&old=%2F&x=%20&%72emoved&replaced=1&replaced=2&there=1", "",
		"X-Removed: 1", "X-Removed: 2", "X-Old: o", "X-Replaced: 1", "X-Replaced: 2", "X-There: 1"))
	require.Equal(t, []string{"PUT", "/v2/x?ne%26w=%2F&x=%20&replaced=a+b&there=1&added=1&there=3"}, header["Asked"])
	for name, want := range map[string][]string{
		"X-Removed": nil, "X-Old": nil, "X-New": {"o"}, "X-Replaced": {"new"}, "X-Absent": nil, "X-Added": {"1"}, "X-There": {"1", "3"},
	} {
		require.Equal(t, want, header[name], name)
	}
}

func TestRequestTransformer_uriCaptures_standForGroupsOfTheRoute(t *testing.T) {
	for uri, want := range map[string]string{
		`/v1$(uri_captures['rest'])`:              "/v1/things/a%20b%2Fc?q=1",
		`$(uri_captures["rest"])`:                 "/things/a%20b%2Fc?q=1",
		`/x/$( uri_captures.id )/y`:               "/x/a%20b%2Fc/y?q=1",
		`/x/$(uri_captures['absent'])`:            "/x/?q=1",
		`/a%20;b%2f$(uri_captures['rest'])`:       "/a%20;b%2f/things/a%20b%2Fc?q=1",
		`/$(uri_captures.id)/$(uri_captures.id)/`: "/a%20b%2Fc/a%20b%2Fc/?q=1",
	} {
		config, err := json.Marshal(map[string]any{"replace": map[string]any{"uri": uri}})
		require.NoError(t, err)
		s := plugintest.NewStage(t, plugintest.Options{
			Kinds: plugin.Kinds(), Plugins: []entity.Plugin{{Name: "request-transformer", Config: config}},
			Config: at(`~/a(?<rest>/things/(?<id>[^#?/]+))$`),
			Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header["Asked"] = []string{r.URL.RequestURI()}
				_ = json.NewEncoder(w).Encode(r.Header)
			}),
		})
		require.Equal(t, []string{want}, seen(t, s.Do(http.MethodGet, "/a/things/a%20b%2fc?q=1", ""))["Asked"], uri)
	}
	for _, uri := range []string{`/x/$(uri_captures['a'])$(headers.b)`, `/x/../$(uri_captures['a'])`, `/x?$(uri_captures['a'])`,
		`/x/%2e./$(uri_captures['a'])`, `/%2$(uri_captures['a'])`, `/x//$(uri_captures['a'])`, `/é$(uri_captures['a'])`} {
		config, err := json.Marshal(map[string]any{"replace": map[string]any{"uri": uri}})
		require.NoError(t, err)
		_, err = plugin.RequestTransformer().Compile(gateway.Setup{Config: config})
		require.ErrorContains(t, err, "config.replace.uri", uri)
	}
}

func TestRequestTransformer_uriCaptures_doNotClimb(t *testing.T) {
	for uri, path := range map[string]string{
		"/x/$(uri_captures.dots)": "/v..", "/x/%2e$(uri_captures.dots)": "/v.", "/x/$(uri_captures.dots)%2E": "/v.",
		"/x/$(uri_captures.dots)/y": "/v..",
	} {
		s := plugintest.NewStage(t, plugintest.Options{
			Kinds: plugin.Kinds(), Config: at(`~/v(?<dots>\.*)`),
			Plugins: []entity.Plugin{{Name: "request-transformer", Config: []byte(`{"replace":{"uri":"` + uri + `"}}`)}},
		})
		require.Equal(t, http.StatusBadRequest, s.Do(http.MethodGet, path, "").Status, uri)
	}
}

// at is a route of the stage's service.
func at(path string) entity.Config {
	return entity.Config{Routes: []entity.Route{{Name: "another", Paths: []string{path}, Service: &entity.Ref{Name: "service"}}}}
}
