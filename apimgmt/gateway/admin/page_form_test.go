package admin_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// shownFields are the fields of the form of a page as a browser sends them.
func shownFields(page string) url.Values {
	all := func(expression string) [][]string {
		return regexp.MustCompile(expression).FindAllStringSubmatch(page, -1)
	}
	form := url.Values{}
	for _, m := range all(`<input (?:type="(?:hidden|password)" )?(?:id="[^"]*" )?name="([^"]+)" value="([^"]*)"`) {
		form.Set(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	for _, m := range all(`<input type="checkbox" id="[^"]*" name="([^"]+)" value="true" checked`) {
		form.Set(m[1], "true")
	}
	for _, m := range all(`(?s)<select id="[^"]*" name="([^"]+)"[^>]*>(.*?)</select>`) {
		chosen := regexp.MustCompile(`<option value="([^"]*)" selected`).FindStringSubmatch(m[2])
		if chosen == nil {
			chosen = regexp.MustCompile(`<option value="([^"]*)"`).FindStringSubmatch(m[2])
		}
		form.Set(m[1], html.UnescapeString(chosen[1]))
	}
	for _, m := range all(`(?s)<textarea id="[^"]*" name="([^"]+)"[^>]*>\n(.*?)</textarea>`) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form
}

func TestPages_save_changesNothingOfAFormAsItIsShown(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	paths := map[string]string{}
	add := func(plural string, body object) string {
		id := c.do("POST", "/"+plural, body, 201)["id"].(string)
		paths["/admin/"+plural+"/"+id] = "/" + plural + "/" + id
		return id
	}
	add("services", object{"name": "s", "host": "s.example", "protocol": "https", "retries": 0, "tls_verify": false,
		"tags": []string{"a", "b"}})
	add("routes", object{"name": "r", "paths": []string{"/r"}, "service": object{"name": "s"}, "headers": object{"X-A": []string{"1", "2"}},
		"https_redirect_status_code": 308, "snis": []string{"r.example"}, "path_handling": "v1", "strip_path": false})
	add("consumers", object{"username": "ann", "custom_id": "7"})
	pool := add("upstreams", object{"name": "pool", "hash_on": "header", "hash_on_header": "X-A", "healthchecks": object{"threshold": 50,
		"active": object{"type": "https", "healthy": object{"interval": 5, "successes": 2, "http_statuses": []int{200, 204}},
			"headers": object{"X-Probe": []string{"1"}}, "https_verify_certificate": false}}})
	add("upstreams", object{"name": "unwatched"})
	target := c.do("POST", "/upstreams/pool/targets", object{"target": "10.0.0.1:80", "weight": 0}, 201)["id"].(string)
	paths["/admin/targets/"+target] = "/upstreams/" + pool + "/targets/" + target
	for kind, config := range map[string]object{
		"acl": {"allow": []string{"group"}}, "cors": {"max_age": 5.5, "allow_origin_absent": true},
		"key-auth": {"key_names": []string{"x", "y"}},
		"oidc": {"discovery": "https://i.example", "bearer_only": "yes",
			"client_secret": "hush", "timeout": 500, "roles_required": "a b"},
		"ip-restriction": {"deny": []string{"192.0.2.0/24"}, "status": 404}, "request-size-limiting": {"size_unit": "bytes"},
		"request-transformer": {"add": object{"headers": []string{"A:b", "Authorization:secret"}}, "replace": object{"uri": "/x"}},
		"request-validator": {"parameter_schema": []object{{"name": "q", "in": "query", "schema": object{"type": "string"},
			"style": "form", "explode": true}}},
		"rate-limiting": {"minute": 5, "policy": "local", "redis": nil}, "deprecation": {"at": "2026-01-01"},
		"prometheus":          {"per_consumer": false},
		"request-termination": {"status_code": 418, "body": "no\n<b>"},
	} {
		add("plugins", object{"name": kind, "config": config, "route": object{"name": "r"}, "protocols": []string{"http"}})
	}
	for page, path := range paths {
		before := c.do("GET", path, nil, 200)
		form := shownFields(b.get(page).text)
		require.NotEmpty(t, form.Get("seen"), page)
		a := b.read(b.http.PostForm(b.url+page, form))
		require.Equal(t, 200, a.status, "%s: %s", page, a.text)
		require.NotEqual(t, page, a.at, "it is saved: %s", a.text)
		after := c.do("GET", path, nil, 200)
		delete(before, "updated_at")
		delete(after, "updated_at")
		require.Equal(t, before, after, page)
	}
	// Neither do forms of new entities need more than what is required.
	for path, fields := range map[string]url.Values{
		"services/new": {"host": {"n.example"}}, "routes/new": {"paths": {"/n"}}, "consumers/new": {"username": {"n"}},
		"upstreams/new": {"name": {"n"}}, "upstreams/new?": {"name": {"m"}, "watched": {"true"}},
		"targets/new?upstream=" + pool:              {"target": {"10.0.0.2"}},
		"plugins/new?kind=request-termination":      {},
		"plugins/new?kind=rate-limiting":            {"config.minute": {"5"}},
		"plugins/new?kind=key-auth&x":               {},
		"plugins/new?kind=deprecation":              {"config.at": {"2026-01-01"}},
		"plugins/new?kind=request-transformer":      {},
		"plugins/new?kind=request-size-limiting&as": {},
	} {
		form := shownFields(b.get("/admin/" + path).text)
		for name, value := range fields {
			form[name] = value
		}
		a := b.read(b.http.PostForm(b.url+"/admin/"+path, form))
		require.Equal(t, http.StatusOK, a.status, "%s: %s", path, a.text)
		require.NotContains(t, a.at, "/new", "it is saved: %s: %s", path, a.text)
	}
}
