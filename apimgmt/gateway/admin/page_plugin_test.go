package admin_test

import (
	"html"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// openRoute creates a route and returns its id.
func openRoute(c *client) string {
	c.do("POST", "/routes", object{"name": "r", "paths": []string{"/r"}}, 201)
	return c.do("GET", "/routes/r", nil, 200)["id"].(string)
}

func TestPages_pluginForms_areMadeOfSchemas(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	route := openRoute(c)
	for name, fields := range map[string][]string{
		"rate-limiting": {`<input id="config.minute"`, `<option value="consumer" selected>`, `value="API rate limit exceeded"`,
			"Status of refusals"},
		"key-auth":            {`<textarea id="config.key_names"`, ">\napikey</textarea>", `name="config.key_in_header" value="true" checked`},
		"request-transformer": {"<legend>Replace</legend>", `name="config.replace.uri"`, `<textarea id="config.add.headers"`},
		"oidc":                {`<input type="password" id="config.client_secret"`, `<option value="client_secret_post" selected>`},
		"request-validator":   {`<textarea id="config.parameter_schema" name="config.parameter_schema" rows="10" class="code"`},
		"deprecation":         {`<input id="config.at" name="config.at" value="" required`},
	} {
		page := b.get("/admin/plugins/new?kind=" + name + "&route=" + route).text
		for _, field := range fields {
			require.Contains(t, page, field, name)
		}
		require.Contains(t, page, `<option value="`+route+`" selected>r</option>`)
	}
	require.NotContains(t, b.get("/admin/plugins/new?kind=key-auth").text, `name="consumer"`, "it is not for consumers")

	const limits = "/admin/plugins/new?kind=rate-limiting"
	form := url.Values{"route": {route}, "enabled": {"true"}, "config.minute": {"many"}, "config.error_code": {"200"},
		"config.limit_by": {"colour"}, "config.policy": {"local"}, "config.fault_tolerant": {"true"}}
	a := b.submit(limits, form)
	require.Equal(t, 400, a.status)
	for _, fault := range []string{"&#34;many&#34; is not a number", "200 is not between 400 and 599",
		"&#34;colour&#34; is not one of the choices"} {
		require.Contains(t, a.text, `">`+fault+"</span>")
	}
	require.Contains(t, a.text, `value="many"`)
	form.Set("config.minute", "60")
	form.Set("config.second", "100")
	form.Set("config.error_code", "")
	form.Set("config.limit_by", "ip")
	a = b.submit(limits, form)
	require.Equal(t, 400, a.status)
	require.Contains(t, a.text, `<span class="fault" id="fault-config.minute">60 is less than the 100 for a second</span>`)
	form.Set("config.second", "5")
	a = b.submit(limits, form)
	require.Equal(t, "/admin/plugins", a.at, a.text)
	made := c.do("GET", "/routes/r/plugins", nil, 200)["data"].([]any)[0].(object)
	config, err := c.store.Config(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"minute":60,"second":5,"limit_by":"ip"}`, string(config.Plugins[0].Config), "defaults are not written")

	// A default that is chosen where another value was stored is written.
	at := "/admin/plugins/" + made["id"].(string)
	page := b.get(at).text
	require.Contains(t, page, `name="config.minute" value="60"`)
	require.Contains(t, page, `<option value="ip" selected>`)
	form.Set("config.limit_by", "consumer")
	form.Set("config.second", "")
	form.Del("config.fault_tolerant")
	form.Del("seen")
	form.Del("id")
	require.Equal(t, "/admin/plugins", b.submit(at, form).at)
	config, err = c.store.Config(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"minute":60,"limit_by":"consumer","fault_tolerant":false}`, string(config.Plugins[0].Config))
}

func TestPages_pluginForms_showAndTakeJSON(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	const keys = "/admin/plugins/new?kind=key-auth"
	raw := regexp.MustCompile(`(?s)<textarea id="config" [^>]*>\n(.*?)</textarea>`)
	form := url.Values{"enabled": {"true"}, "config.key_names": {"token\nkey"}, "config.key_in_header": {"true"},
		"config.run_on_preflight": {"true"}, "show": {"json"}}
	a := b.submit(keys, form)
	require.Equal(t, 200, a.status)
	text := html.UnescapeString(raw.FindStringSubmatch(a.text)[1])
	require.JSONEq(t, `{"key_names":["token","key"],"key_in_query":false}`, text)
	require.Empty(t, c.do("GET", "/plugins", nil, 200)["data"], "nothing is saved by that")

	again := url.Values{"enabled": {"true"}, "config": {`{"realm": "lamps", "key_names": ["x"]}`}, "show": {"form"}}
	a = b.submit(keys, again)
	require.Contains(t, a.text, `name="config.realm" value="lamps"`)
	require.Contains(t, a.text, ">\nx</textarea>")
	again.Set("config", `[1]`)
	require.Contains(t, b.submit(keys, again).text, "is not a JSON object")
	again.Set("config", `{"realm": 5}`)
	again.Del("show")
	a = b.submit(keys, again)
	require.Equal(t, 400, a.status)
	require.Contains(t, a.text, `<textarea id="config"`, "the form stays the one that was sent")
}

func TestPages_pluginForms_keepSecrets(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	config := object{"discovery": "https://idm.example/d", "client_id": "gw", "client_secret": "hush-hush", "bearer_only": "yes",
		"roles_required": "Developer"}
	id := c.do("POST", "/plugins", object{"name": "oidc", "config": config}, 201)["id"].(string)
	page := b.get("/admin/plugins/" + id).text
	require.NotContains(t, page, "hush-hush")
	require.Contains(t, page, `value="" autocomplete="new-password" placeholder="stored; empty keeps it"`)
	require.Contains(t, page, `name="config.bearer_only" value="true" checked`)
	require.Contains(t, page, ">\nDeveloper</textarea>")
	form := url.Values{"enabled": {"true"}, "config.discovery": {"https://idm.example/e"}, "config.client_id": {"gw"},
		"config.bearer_only": {"true"}, "config.introspection_endpoint_auth_method": {"client_secret_post"},
		"config.token_endpoint_auth_method": {"client_secret_post"}, "config.response_type": {"code"}}
	require.Equal(t, "/admin/plugins", b.submit("/admin/plugins/"+id, form).at)
	stored := c.do("GET", "/plugins/"+id, nil, 200)["config"].(object)
	require.Equal(t, "hush-hush", stored["client_secret"])
	require.Equal(t, "https://idm.example/e", stored["discovery"])
	form.Del("seen")
	form.Set("config.client_secret", "another one")
	require.Equal(t, "/admin/plugins", b.submit("/admin/plugins/"+id, form).at)
	require.Equal(t, "another one", c.do("GET", "/plugins/"+id, nil, 200)["config"].(object)["client_secret"])
	form.Del("seen")
	form.Del("config.client_secret")
	form.Set("show", "json")
	require.Contains(t, b.submit("/admin/plugins/"+id, form).text, "&#34;client_secret&#34;: &#34;[redacted]&#34;")

	// The whole form of an extension has no fields to show.
	whole := c.do("POST", "/plugins", object{"name": "oidc", "instance_name": "whole",
		"route": object{"id": openRoute(c)}, "config": object{"name": "oidc", "config": config}}, 201)["id"].(string)
	page = b.get("/admin/plugins/" + whole).text
	require.Contains(t, page, `<textarea id="config"`)
	require.NotContains(t, page, `name="show"`)
}
