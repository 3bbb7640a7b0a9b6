package admin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPages_showANewKeyOnce(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	a := b.submit("/admin/consumers/new", url.Values{"username": {"ann"}})
	require.Equal(t, "/admin/consumers", a.at)
	require.Contains(t, a.text, "Saved consumer “ann”")
	ann := c.do("GET", "/consumers/ann", nil, 200)["id"].(string)

	require.Contains(t, b.get("/admin/consumers/"+ann).text, "key-auths/new?consumer="+ann)
	require.Contains(t, b.get("/admin/key-auths/new?consumer="+ann).text, `<option value="`+ann+`" selected>`)
	form := url.Values{"consumer": {ann}, "ttl": {"3600"}}
	a = b.submit("/admin/key-auths/new", form)
	require.Equal(t, 200, a.status, a.text)
	made := c.do("GET", "/consumers/ann/key-auth", nil, 200)["data"].([]any)[0].(object)
	key := made["key"].(string)
	require.Contains(t, a.text, `<code id="key">`+key+"</code>")
	a = b.read(b.http.PostForm(b.url+"/admin/key-auths/new", form)) // the page is loaded again
	require.Equal(t, "/admin/consumers/"+ann, a.at)
	require.Contains(t, a.text, "It was shown once.")
	require.Contains(t, a.text, "for 1h0m0s")
	require.NotContains(t, a.text, key)
	require.Len(t, c.do("GET", "/consumers/ann/key-auth", nil, 200)["data"], 1)
	for _, path := range []string{"/admin/consumers/" + ann, "/admin/consumers", "/admin/key-auths/" + made["id"].(string) + "/delete"} {
		require.NotContains(t, b.get(path).text, key, path)
	}
	require.Equal(t, 404, b.get("/admin/key-auths/"+made["id"].(string)).status, "it cannot be shown again")
	require.Equal(t, 404, b.get("/admin/key-auths").status)

	// One that is chosen is not taken twice, and is in no message.
	require.Equal(t, 200, b.submit("/admin/key-auths/new", url.Values{"consumer": {ann}, "key": {"chosen by ann"}}).status)
	a = b.submit("/admin/key-auths/new", url.Values{"consumer": {ann}, "key": {"chosen by ann"}})
	require.Equal(t, 409, a.status, a.text)
	require.GreaterOrEqual(t, b.submit("/admin/key-auths/new", url.Values{"consumer": {""}}).status, 400)

	a = b.submit("/admin/key-auths/"+made["id"].(string)+"/delete", url.Values{})
	require.Equal(t, "/admin/consumers/"+ann, a.at)
	require.Len(t, c.do("GET", "/consumers/ann/key-auth", nil, 200)["data"], 1)
	require.Contains(t, b.get("/admin/consumers/"+ann+"/delete").text, "The keys of the consumer")
	require.Equal(t, "/admin/consumers", b.submit("/admin/consumers/"+ann+"/delete", url.Values{}).at)
	require.Empty(t, c.do("GET", "/key-auths", nil, 200)["data"])
}

func TestPages_changeUpstreamsAndTargets(t *testing.T) {
	service := httptest.NewServer(http.NotFoundHandler())
	defer service.Close()
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	upstream := url.Values{"name": {"pool"}, "algorithm": {"least-connections"}, "hash_on": {"none"}, "hash_fallback": {"none"}}
	require.Equal(t, "/admin/upstreams", b.submit("/admin/upstreams/new", upstream).at)
	pool := c.do("GET", "/upstreams/pool", nil, 200)
	require.Equal(t, "least-connections", pool["algorithm"])
	require.Equal(t, 10000.0, pool["slots"])
	id := pool["id"].(string)

	target := strings.TrimPrefix(service.URL, "http://")
	a := b.submit("/admin/targets/new", url.Values{"upstream": {id}, "target": {target}})
	require.Equal(t, "/admin/upstreams/"+id, a.at)
	require.Contains(t, a.text, target)
	require.Contains(t, a.text, `data-state="HEALTHCHECKS_OFF"`)
	require.Equal(t, 400, b.submit("/admin/targets/new", url.Values{"upstream": {id}, "target": {"a b"}}).status)
	at := regexp.MustCompile(`targets/([0-9a-f-]{36})"`).FindStringSubmatch(a.text)[1]
	a = b.submit("/admin/targets/"+at, url.Values{"upstream": {id}, "target": {target}, "weight": {"7"}})
	require.Equal(t, "/admin/upstreams/"+id, a.at, a.text)
	require.Contains(t, a.text, `data-label="Weight" class="number">7<`)

	// Health checks are what the form says, and nothing of what was there before.
	upstream.Del("seen")
	upstream.Set("watched", "true")
	upstream.Set("healthchecks.active.http_path", "/ok")
	upstream.Set("healthchecks.active.unhealthy.interval", "5")
	upstream.Set("healthchecks.active.unhealthy.http_failures", "1")
	upstream.Set("healthchecks.active.unhealthy.http_statuses", "500 503")
	upstream.Set("healthchecks.active.headers", "X-Probe: 1\nX-Probe: 2")
	require.Equal(t, "/admin/upstreams", b.submit("/admin/upstreams/"+id, upstream).at)
	page := b.get("/admin/upstreams/" + id).text
	require.Contains(t, page, "/ok")
	require.Contains(t, page, `data-state="HEALTHY"`)
	active := c.do("GET", "/upstreams/pool", nil, 200)["healthchecks"].(object)["active"].(object)
	require.Equal(t, []any{500.0, 503.0}, active["unhealthy"].(object)["http_statuses"])
	require.Equal(t, object{"X-Probe": []any{"1", "2"}}, active["headers"])
	upstream.Del("seen")
	upstream.Set("healthchecks.active.unhealthy.http_failures", "many")
	a = b.submit("/admin/upstreams/"+id, upstream)
	require.Equal(t, 400, a.status)
	require.Contains(t, a.text, `">&#34;many&#34; is not a number</span>`)
	upstream.Set("healthchecks.active.unhealthy.http_failures", "1")
	upstream.Del("seen")
	upstream.Del("watched")
	require.Equal(t, "/admin/upstreams", b.submit("/admin/upstreams/"+id, upstream).at)
	require.NotContains(t, b.get("/admin/upstreams/"+id).text, "/ok")

	require.Equal(t, "/admin/upstreams/"+id, b.submit("/admin/targets/"+at+"/delete", url.Values{}).at)
	require.Equal(t, "/admin/upstreams", b.submit("/admin/upstreams/"+id+"/delete", url.Values{}).at)
}
