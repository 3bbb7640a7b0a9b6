package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNew() {
	g, err := gateway.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := admin.Open(context.Background(), admin.StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := admin.New(admin.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(api.Handler()) // on a loopback address: no token is needed
	defer server.Close()
	response, err := http.PostForm(server.URL+"/services", url.Values{"name": {"lamps"}, "url": {"https://lamps.example/v2"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	var service entity.Service
	if err := json.NewDecoder(response.Body).Decode(&service); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.StatusCode, service.Name, service.Protocol, service.Host, service.Port, service.Path)
	// Output:
	// 201 lamps https lamps.example 443 /v2
}

// client is a client of the API.
type client struct {
	*testing.T
	url   string
	store *admin.Store
	gate  *gateway.Gateway
}

func newClient(t *testing.T) *client {
	store, g := openStore(t, storage.NewMemoryDocuments())
	api, err := admin.New(admin.Config{Store: store})
	require.NoError(t, err)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	return &client{T: t, url: server.URL, store: store, gate: g}
}

type object = map[string]any

// do sends a request with a body in JSON, or none if body is nil.
func (c *client) do(method, path string, body any, status int) object {
	c.Helper()
	if body == nil {
		return c.send(method, path, "", "", status)
	}
	data, err := json.Marshal(body)
	require.NoError(c, err)
	return c.send(method, path, "application/json", string(data), status)
}

func (c *client) send(method, path, media, body string, status int) object {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c, err)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(c, err)
	defer func() { require.NoError(c, response.Body.Close()) }()
	data, err := io.ReadAll(response.Body)
	require.NoError(c, err)
	require.Equal(c, status, response.StatusCode, "%s %s: %s", method, path, data)
	if len(data) == 0 {
		return nil
	}
	var answer object
	require.NoError(c, json.Unmarshal(data, &answer), "%s", data)
	return answer
}

func (c *client) form(method, path, body string, status int) object {
	c.Helper()
	return c.send(method, path, "application/x-www-form-urlencoded", body, status)
}

func TestAPI_createsReadsUpdatesAndDeletesEveryEntity(t *testing.T) {
	c := newClient(t)
	c.do("POST", "/services", object{"name": "s", "host": "s.example"}, 201)
	c.do("POST", "/services/s/routes", object{"name": "r", "paths": []string{"/r"}}, 201)
	c.do("POST", "/consumers", object{"username": "ann"}, 201)
	c.do("POST", "/upstreams", object{"name": "pool"}, 201)
	for _, kind := range []struct {
		path           string
		create, change object
		field          string
		want           any
	}{
		{"/services", object{"name": "x", "url": "http://x.example:8080/a"}, object{"retries": 2}, "retries", 2.0},
		{"/routes", object{"name": "x", "paths": []string{"/x"}, "service": object{"name": "s"}},
			object{"methods": []string{"GET"}}, "methods", []any{"GET"}},
		{"/services/s/routes", object{"name": "y", "paths": []string{"/y"}}, object{"strip_path": false}, "strip_path", false},
		{"/consumers", object{"username": "bob"}, object{"custom_id": "b"}, "custom_id", "b"},
		{"/consumers/ann/key-auth", object{"key": "secret-of-ann"}, object{"tags": []string{"t"}}, "tags", []any{"t"}},
		{"/plugins", object{"name": "note", "config": object{"text": "a"}}, object{"enabled": false}, "enabled", false},
		{"/services/s/plugins", object{"name": "note"}, object{"config": object{"text": "b"}}, "config", object{"text": "b"}},
		{"/routes/r/plugins", object{"name": "note"}, object{"instance_name": "n"}, "instance_name", "n"},
		{"/consumers/ann/plugins", object{"name": "note"}, object{"protocols": []string{"http"}}, "protocols", []any{"http"}},
		{"/upstreams", object{"name": "x"}, object{"algorithm": "least-connections"}, "algorithm", "least-connections"},
		{"/upstreams/pool/targets", object{"target": "10.0.0.1:80"}, object{"weight": 7}, "weight", 7.0},
	} {
		made := c.do("POST", kind.path, kind.create, 201)
		id := made["id"].(string)
		require.NotEmpty(t, made["created_at"], kind.path)
		require.Contains(t, made, "tags", "fields that are empty are null")
		item := kind.path + "/" + id
		require.Equal(t, made, c.do("GET", item, nil, 200))
		require.Equal(t, kind.want, c.do("PATCH", item, kind.change, 200)[kind.field], kind.path)
		require.Equal(t, kind.want, c.do("GET", item, nil, 200)[kind.field], kind.path)
		put := c.do("PUT", item, kind.create, 200)
		require.Equal(t, id, put["id"])
		delete(put, "updated_at")
		delete(made, "updated_at")
		require.Equal(t, made, put, "PUT takes the place of the whole entity")
		list := c.do("GET", kind.path, nil, 200)["data"].([]any)
		require.NotEmpty(t, list)
		c.do("DELETE", item, nil, 204)
		c.do("DELETE", item, nil, 204)
		require.Equal(t, object{"message": "Not found"}, c.do("GET", item, nil, 404))
		c.do("PATCH", item, object{}, 404)
		require.Equal(t, id, c.do("PUT", item, kind.create, 200)["id"], "PUT creates what is not there")
	}
	require.Equal(t, "s", c.do("GET", "/routes/x/service", nil, 200)["name"])
	require.Equal(t, "ann", c.do("GET", "/key-auths/secret-of-ann/consumer", nil, 200)["username"])
	require.Equal(t, "new", c.do("PUT", "/services/new", object{"host": "h"}, 200)["name"], "PUT by name creates one of that name")
	require.Equal(t, c.do("GET", "/services/new", nil, 200)["id"], c.do("PUT", "/services/new", object{"host": "i"}, 200)["id"])
	c.do("GET", "/services/absent/routes", nil, 404)
	c.do("POST", "/services/absent/routes", object{"paths": []string{"/z"}}, 404)
	require.Len(t, c.do("POST", "/consumers/ann/key-auth", nil, 201)["key"], 26, "a key that is not given is made")
}

func TestAPI_readsFormsAsKong(t *testing.T) {
	c := newClient(t)
	c.form("POST", "/services", "name=s&url=http://s.example/v1&retries=3&tags[]=a&tags[]=b", 201)
	route := c.form("POST", "/services/s/routes",
		"name=r&paths[]=/r&paths[]=/q&methods[1]=GET&methods[2]=PUT&strip_path=false&headers.x-kind=a", 201)
	require.Equal(t, []any{"/r", "/q"}, route["paths"])
	require.Equal(t, []any{"GET", "PUT"}, route["methods"])
	require.Equal(t, false, route["strip_path"])
	require.Equal(t, object{"x-kind": []any{"a"}}, route["headers"])
	require.Equal(t, []any{"/only"}, c.form("PATCH", "/routes/r", "paths=/only&methods=", 200)["paths"])
	plugin := c.form("POST", "/plugins", "name=request-termination&config.status_code=418&route.id="+route["id"].(string), 201)
	require.Equal(t, object{"status_code": 418.0, "echo": false, "message": nil, "body": nil, "content_type": nil,
		"trigger": nil}, plugin["config"])

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(t, form.WriteField("name", "m"))
	require.NoError(t, form.WriteField("host", "m.example"))
	require.NoError(t, form.Close())
	require.Equal(t, "m.example", c.send("POST", "/services", form.FormDataContentType(), body.String(), 201)["host"])
}

func TestAPI_answersErrorsAsKong(t *testing.T) {
	c := newClient(t)
	c.do("POST", "/services", object{"name": "s", "host": "s.example"}, 201)
	c.do("POST", "/services/s/routes", object{"name": "r", "paths": []string{"/r"}}, 201)

	e := c.do("POST", "/services", object{"name": "x"}, 400)
	require.Equal(t, 2.0, e["code"])
	require.Equal(t, "schema violation", e["name"])
	require.Equal(t, object{"host": "is required"}, e["fields"])
	require.Equal(t, "schema violation (host: is required)", e["message"])

	e = c.do("POST", "/services", object{"name": "s", "host": "h"}, 409)
	require.Equal(t, 5.0, e["code"])
	require.Equal(t, "unique constraint violation", e["name"])
	require.Equal(t, object{"name": "s"}, e["fields"])

	e = c.do("POST", "/routes", object{"paths": []string{"/x"}, "service": object{"id": "11111111-1111-4111-8111-111111111111"}}, 400)
	require.Equal(t, 4.0, e["code"])
	require.Equal(t, "foreign key violation", e["name"])
	require.Equal(t, object{"service": object{"id": "11111111-1111-4111-8111-111111111111"}}, e["fields"])

	e = c.do("DELETE", "/services/s", nil, 400)
	require.Equal(t, 4.0, e["code"])
	require.Equal(t, object{"@referenced_by": "routes"}, e["fields"])

	e = c.do("POST", "/services", object{"host": "h", "colour": "red"}, 400)
	require.Equal(t, object{"colour": "unknown field"}, e["fields"])
	e = c.do("POST", "/plugins", object{"name": "note", "config": object{"text": "bad"}}, 400)
	require.Equal(t, object{"config": object{"text": "is bad"}}, e["fields"])
	e = c.do("POST", "/plugins", object{"name": "magic"}, 400)
	require.Contains(t, e["fields"], "name")
	e = c.do("PATCH", "/services/s", object{"id": "11111111-1111-4111-8111-111111111111"}, 400)
	require.Contains(t, e["fields"], "id")

	c.send("POST", "/services", "application/json", "{", 400)
	c.send("POST", "/services", "application/json", "[]", 400)
	c.send("POST", "/services", "text/plain", "{}", 415)
	c.send("POST", "/services", "application/json", `{"host":"`+strings.Repeat("x", 1<<20)+`"}`, 413)
	c.form("POST", "/services", "a[=1", 400)
	require.Equal(t, object{"message": "Not found"}, c.do("GET", "/nothing", nil, 404))
	require.Equal(t, object{"message": "Method not allowed"}, c.do("DELETE", "/services", nil, 405))
	require.Equal(t, 9.0, c.do("GET", "/services?size=0", nil, 400)["code"])
	require.Equal(t, 7.0, c.do("GET", "/services?offset=!", nil, 400)["code"])
	c.do("GET", "/services?tags=a,b/c", nil, 400)

	config, _ := c.gate.Config()
	require.Len(t, config.Services, 1, "nothing of it was stored")
}

func TestAPI_deletesDependentEntities(t *testing.T) {
	c := newClient(t)
	c.do("POST", "/services", object{"name": "s", "host": "s.example"}, 201)
	c.do("POST", "/services/s/routes", object{"name": "r", "paths": []string{"/r"}}, 201)
	c.do("POST", "/consumers", object{"username": "ann"}, 201)
	c.do("POST", "/consumers/ann/key-auth", object{"key": "k"}, 201)
	c.do("POST", "/upstreams", object{"name": "pool"}, 201)
	c.do("POST", "/upstreams/pool/targets", object{"target": "10.0.0.1:80"}, 201)
	for _, on := range []string{"/services/s", "/routes/r", "/consumers/ann"} {
		c.do("POST", on+"/plugins", object{"name": "note"}, 201)
	}
	for _, path := range []string{"/consumers/ann", "/upstreams/pool", "/routes/r", "/services/s"} {
		c.do("DELETE", path, nil, 204)
	}
	config, _ := c.gate.Config()
	require.Empty(t, config.Services)
	require.Empty(t, config.Routes)
	require.Empty(t, config.Plugins)
	require.Empty(t, config.Consumers)
	require.Empty(t, config.Keys)
	require.Empty(t, config.Upstreams)
	require.Empty(t, config.Targets)
}

func TestAPI_pagesAndFiltersLists(t *testing.T) {
	c := newClient(t)
	for i := range 25 {
		tags := []string{"all", fmt.Sprint("n", i%5)}
		c.do("POST", "/services", object{"name": fmt.Sprint("s", i), "host": "h", "tags": tags}, 201)
	}
	for _, filter := range []struct {
		query string
		want  int
	}{{"", 25}, {"&tags=all", 25}, {"&tags=n1", 5}, {"&tags=n1/n2", 10}, {"&tags=all,n1", 5}, {"&tags=n1,n2", 0}, {"&tags=none", 0}} {
		seen, next := map[string]bool{}, "/services?size=4"+filter.query
		for pages := 0; next != ""; pages++ {
			require.Less(t, pages, 10)
			page := c.do("GET", next, nil, 200)
			for _, e := range page["data"].([]any) {
				id := e.(object)["id"].(string)
				require.False(t, seen[id])
				seen[id] = true
			}
			require.Equal(t, page["next"] == nil, page["offset"] == nil)
			next, _ = page["next"].(string)
		}
		require.Len(t, seen, filter.want, filter.query)
	}
	require.Len(t, c.do("GET", "/tags/n3", nil, 200)["data"], 5)
	require.Len(t, c.do("GET", "/tags?size=1000", nil, 200)["data"], 50)
}

func TestAPI_config_isReadAndReplaced(t *testing.T) {
	c := newClient(t)
	const declared = "_format_version: \"3.0\"\nservices:\n- name: s\n  host: s.example\n  routes:\n  - name: r\n    paths: [/r]\n"
	answer := c.send("POST", "/config", "text/yaml", declared, 201)
	require.Len(t, answer["services"], 1)
	require.Len(t, answer["routes"], 1)
	text := c.do("GET", "/config", nil, 200)["config"].(string)
	require.Contains(t, text, "name: s")
	hash := c.do("GET", "/status", nil, 200)["configuration_hash"]
	require.Len(t, hash, 32)

	c.send("POST", "/config?check_hash=1", "text/yaml", text, 304)
	c.do("POST", "/config", object{"config": text}, 201)
	require.Equal(t, hash, c.do("GET", "/status", nil, 200)["configuration_hash"])
	c.form("POST", "/config", "config="+url.QueryEscape(declared), 201)
	c.send("POST", "/config", "application/json", `{"_format_version":"3.0","services":[{"name":"other","host":"o"}]}`, 201)
	require.NotEqual(t, hash, c.do("GET", "/status", nil, 200)["configuration_hash"])
	require.Len(t, c.do("GET", "/services", nil, 200)["data"], 1)

	e := c.send("POST", "/config", "application/json", `{"_format_version":"3.0","services":[{"name":"bad"}]}`, 400)
	require.Equal(t, 14.0, e["code"])
	require.Equal(t, object{"services": object{"bad": object{"host": "is required"}}}, e["fields"])
	e = c.send("POST", "/config", "application/json", `{"_format_version":"3.0","plugins":[{"name":"magic"}]}`, 400)
	require.Equal(t, 14.0, e["code"])
	c.send("POST", "/config", "application/json", `{}`, 400)
	require.Len(t, c.do("GET", "/services", nil, 200)["data"], 1)
}

func TestAPI_changesPublishedEntitiesUntilTheNextPublish(t *testing.T) {
	c := newClient(t)
	require.NoError(t, c.store.Publish(t.Context(), "enabler:lamps", thing("lamps")))
	require.Equal(t, []any{"enabler:lamps"}, c.do("PATCH", "/services/lamps", object{"retries": 1}, 200)["tags"])
	c.do("POST", "/services/lamps/plugins", object{"name": "note"}, 201)
	again := thing("lamps")
	require.NoError(t, c.store.Publish(t.Context(), "enabler:lamps", again))
	require.Equal(t, 5.0, c.do("GET", "/services/lamps", nil, 200)["retries"])
	require.Len(t, c.do("GET", "/services/lamps/plugins", nil, 200)["data"], 1, "what others have put on it stays")
}

func TestAPI_schemas_listTypesAndDefaults(t *testing.T) {
	c := newClient(t)
	defaults := func(entity string) object {
		all := object{}
		for _, f := range c.do("GET", "/schemas/"+entity, nil, 200)["fields"].([]any) {
			for name, described := range f.(object) {
				all[name] = described.(object)["default"]
			}
		}
		return all
	}
	require.Equal(t, 5.0, defaults("services")["retries"])
	require.Equal(t, []any{"http", "https"}, defaults("routes")["protocols"])
	require.Equal(t, 100.0, defaults("targets")["weight"])
	require.Equal(t, "round-robin", defaults("upstreams")["algorithm"])
	for _, name := range []string{"consumers", "plugins", "keyauth_credentials"} {
		require.Contains(t, defaults(name), "id")
	}
	c.do("GET", "/schemas/magic", nil, 404)
	require.Contains(t, c.do("GET", "/schemas/plugins/note", nil, 200), "fields")
	c.do("GET", "/schemas/plugins/magic", nil, 404)

	c.do("POST", "/schemas/services/validate", object{"host": "h"}, 200)
	c.do("POST", "/schemas/services/validate", object{}, 400)
	c.do("POST", "/schemas/routes/validate", object{"paths": []string{"~/(("},
		"service": object{"id": "11111111-1111-4111-8111-111111111111"}}, 400)
	c.do("POST", "/schemas/routes/validate", object{"paths": []string{"/a"},
		"service": object{"id": "11111111-1111-4111-8111-111111111111"}}, 200)
	c.do("POST", "/schemas/plugins/validate", object{"name": "note", "config": object{"text": "a"}}, 200)
	e := c.do("POST", "/schemas/plugins/validate", object{"name": "note", "config": object{"text": "bad"}}, 400)
	require.Equal(t, object{"config": object{"text": "is bad"}}, e["fields"])
	c.do("POST", "/schemas/keyauth_credentials/validate", object{}, 200)
	c.do("POST", "/schemas/targets/validate", object{"target": "10.0.0.1:80"}, 200)
}

func TestAPI_node_describesTheGateway(t *testing.T) {
	c := newClient(t)
	root := c.do("GET", "/", nil, 200)
	require.Regexp(t, `^3\.\d+\.\d+$`, root["version"])
	require.Contains(t, root["plugins"].(object)["available_on_server"], "note")
	require.Contains(t, root["configuration"], "database")
	require.Equal(t, true, c.do("GET", "/status", nil, 200)["database"].(object)["reachable"])
	require.Contains(t, c.do("GET", "/endpoints", nil, 200)["data"], "/services/{parent}/routes")
	require.Contains(t, c.do("GET", "/plugins/enabled", nil, 200)["enabled_plugins"], "note")
}

func TestAPI_targets_showAndSetHealth(t *testing.T) {
	c := newClient(t)
	c.do("POST", "/upstreams", object{"name": "pool", "healthchecks": object{"passive": object{"unhealthy": object{"http_failures": 2}}}}, 201)
	c.do("POST", "/upstreams/pool/targets", object{"target": "10.0.0.1:80"}, 201)
	state := func() any {
		return c.do("GET", "/upstreams/pool/health", nil, 200)["data"].([]any)[0].(object)["health"]
	}
	require.Equal(t, "HEALTHY", state())
	c.do("POST", "/upstreams/pool/targets/10.0.0.1:80/unhealthy", nil, 204)
	require.Equal(t, "UNHEALTHY", state())
	c.do("PUT", "/upstreams/pool/targets/10.0.0.1:80/healthy", nil, 204)
	require.Equal(t, "HEALTHY", state())
	c.do("GET", "/upstreams/absent/health", nil, 404)
	c.do("POST", "/upstreams/pool/targets/10.0.0.9:80/healthy", nil, 404)
}
