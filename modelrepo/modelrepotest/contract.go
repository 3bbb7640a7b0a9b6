package modelrepotest

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sentences that several rows share.
const (
	taken      = "An entity with the same key already exists in the repository."
	noLatest   = "The 'latest' tag cannot be used for writes."
	malformed  = "Request content was malformed."
	wrongType  = "Unsupported content type of request body or malformed content."
	needFormat = "Format must be given explicitly with the 'format' query parameter."
	badFormat  = `Invalid format string. The 'format' parameter must match regex: '^[a-zA-Z0-9][\w\-/+.]{0,99}$'.`
	exists     = "Content in format 'text/turtle' already exists for this model version. If you want to update it, " +
		"it is recommended to create a new version instead. If you really want to overwrite this content, retry the " +
		"upload with the 'overwrite=1' query parameter."
)

// Run checks every row of the table of endpoints. Each test calls open for stores of
// its own, and tests run beside each other: most wait for the stores.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*client)
	}{
		{"root", root},
		{"namespaces", namespaces},
		{"models", models},
		{"versions", versions},
		{"latest", latest},
		{"uploads", uploads},
		{"downloads", downloads},
		{"content is deleted", deletes},
		{"short downloads", short},
		{"conditions", conditions},
		{"ranges", ranges},
		{"formats in URLs", formatsInURLs},
		{"pages", pages},
		{"requests of every kind", requests},
		{"metadata", metadata},
		{"metadata at their bounds", metadataBounds},
		{"metadata that break the rules", metadataFaults},
		{"filters", filters},
		{"orders", orders},
		{"listing faults", listingFaults},
		{"aliases", aliases},
		{"aliased versions", aliasedVersions},
		{"alias faults", aliasFaults},
		{"immutable versions", immutable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newClient(t, open))
		})
	}
	t.Run("quotas of children", func(t *testing.T) { childQuotas(t, open) })
	t.Run("quotas of content", func(t *testing.T) { contentQuotas(t, open) })
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return data
}

func md5Hex(data string) string {
	sum := md5.Sum([]byte(data))
	return hex.EncodeToString(sum[:])
}

func root(c *client) {
	c.get("/").is(`{"namespaces":{"items":[],"totalCount":0}}`)
	c.do("POST", "/w3c", "").says("Created namespace 'w3c'.")
	c.do("POST", "/acme", "").says("Created namespace 'acme'.")
	c.get("/").is(`{"namespaces":{"items":[{"name":"acme"},{"name":"w3c"}],"totalCount":2}}`)
	c.get("/v").is(`{"name":"modelrepo","version":"0.1"}`)
	c.get("/v/").is(`{"name":"modelrepo","version":"0.1"}`)
}

func namespaces(c *client) {
	c.do("POST", "/w3c", `"ignored"`, "Content-Type: application/json").says("Created namespace 'w3c'.")
	c.do("POST", "/w3c", "").fails(409, taken)
	for _, bad := range []string{"ab", strings.Repeat("a", 101), "a.b", "a%20b", "a%2Fb", "%2e%2e%2e", "a%00b", "na%C3%AFve",
		"w3c%0A"} {
		c.do("POST", "/"+bad, "").fails(400, "Invalid namespace name. Namespace names must match regex: ^[A-Za-z0-9_-]{3,100}$")
		c.get("/"+bad).refuses(404, "Namespace '")
		c.do("DELETE", "/"+bad, "").refuses(404, "Namespace '")
	}
	for _, good := range []string{"abc", "-_-", "a_1", strings.Repeat("a", 100)} {
		c.do("POST", "/"+good+"/", "").says("Created namespace '" + good + "'.")
		c.do("DELETE", "/"+good+"/", `{"ignored":1}`).says("Deleted namespace '" + good + "'.")
	}
	c.do("GET", "/w3c", `"ignored"`, "Content-Type: text/plain").is(`{"name":"w3c"}`)
	c.get("/absent").fails(404, "Namespace 'absent' not found.")
	c.do("DELETE", "/absent", "").fails(404, "Namespace 'absent' not found.")
	c.do("POST", "/w3c/sosa", "").says("Created model 'w3c/sosa'.")
	c.get("/w3c/").is(`{"name":"w3c","models":{"items":[{"name":"sosa","namespace":"w3c"}],"totalCount":1}}`)
	c.do("DELETE", "/w3c", "").fails(400, "Namespace 'w3c' is not empty. Please delete the models first.")
	c.do("DELETE", "/w3c/sosa", "").says("Deleted model 'w3c/sosa'.")
	c.do("DELETE", "/w3c", "").says("Deleted namespace 'w3c'.")
	c.get("/w3c").fails(404, "Namespace 'w3c' not found.")
	c.do("POST", "/docs", "").has(405)
	c.do("POST", "/metrics", "").has(405)
}

func models(c *client) {
	c.do("POST", "/w3c/sosa", "").fails(404, "Namespace 'w3c' not found.")
	c.do("POST", "/w3c", "").says("Created namespace 'w3c'.")
	c.json("POST", "/w3c/sosa",
		`{"latestVersion":"1.0","mongoUpdates":[{}],"docstoreUpdates":7}`).says("Created model 'w3c/sosa'.")
	c.json("POST", "/w3c/sosa", `{}`).fails(409, taken)
	c.get("/w3c/sosa").is(`{"namespace":"w3c","name":"sosa","latestVersion":"1.0"}`)
	for _, bad := range []string{"_a", "-a", strings.Repeat("m", 101), "a.b", "a%2Fb", "a%20b"} {
		c.do("POST", "/w3c/"+bad, "").refuses(400, "Invalid namespace or model name. ")
		c.get("/w3c/"+bad).refuses(404, "Model 'w3c/")
		c.json("PATCH", "/w3c/"+bad, `{"latestVersion":"1"}`).refuses(404, "Could not find model 'w3c/")
		c.do("DELETE", "/w3c/"+bad, "").refuses(404, "Model 'w3c/")
	}
	for _, good := range []string{"m", "M_-", strings.Repeat("9", 100)} {
		c.do("POST", "/w3c/"+good, "").says("Created model 'w3c/" + good + "'.")
		c.do("DELETE", "/w3c/"+good, "").says("Deleted model 'w3c/" + good + "'.")
	}
	updates(c, "/w3c/ssn", "/w3c/sosa", "latestVersion", "model", "1.1", "-1")
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"latest"}`).fails(400,
		"Error validating the body of the request: 'latestVersion' is in invalid format")
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"@unset"}`).says("Updated model 'w3c/sosa'.")
	c.do("GET", "/w3c/sosa/", `{}`).is(`{"namespace":"w3c","name":"sosa"}`)
	c.get("/w3c/absent").fails(404, "Model 'w3c/absent' not found.")
	c.do("DELETE", "/w3c/absent", "").fails(404, "Model 'w3c/absent' not found.")
	c.do("POST", "/w3c/sosa/1.0", "").says("Created model version 'w3c/sosa/1.0'.")
	c.do("DELETE", "/w3c/sosa", "").fails(400, "Model 'w3c/sosa' is not empty. Please delete the model versions first.")
	c.do("DELETE", "/w3c/sosa/1.0", "").says("Deleted model version 'w3c/sosa/1.0'.")
	c.do("DELETE", "/w3c/sosa", `{}`).says("Deleted model 'w3c/sosa'.")
}

// updates sends the bodies of creations and updates: for a new place, and for an
// existing one, which ends with the good value.
func updates(c *client, fresh, there, field, kind, good, bad string) {
	path := strings.TrimPrefix(there, "/")
	const validating = "Error validating the body of the request: "
	for _, method := range []string{"POST", "PATCH"} {
		target := map[string]string{"POST": fresh, "PATCH": there}[method]
		for _, body := range []string{`{`, `[]`, `"x"`, `null`, `{"a":1}{}`, "\xff"} {
			c.json(method, target, body).fails(400, malformed)
		}
		for _, value := range []string{`7`, `{}`, `""`, `"` + bad + `"`, `"` + strings.Repeat("x", 101) + `"`} {
			c.json(method, target, `{"`+field+`":`+value+`}`).fails(400, validating+"'"+field+"' is in invalid format")
		}
		c.json(method, target, `{"name":"x"}`).fails(400, validating+"'name' is not a known field")
		c.do(method, target, `{}`, "Content-Type: text/plain").fails(415, wrongType)
		c.do(method, target, `{}`).fails(415, wrongType)
		c.json(method, target, `{"mongoUpdates":"`+strings.Repeat("x", 1<<20)+`"}`).fails(413, "The request body is too large.")
	}
	c.json("POST", fresh, `{"`+field+`":"@unset"}`).fails(400, validating+"'"+field+"' cannot be unset during creation")
	c.json("PATCH", there, ``).fails(400, "Request body is required.")
	c.json("PATCH", there, `{}`).says("No updates requested.")
	c.json("PATCH", there, `{"mongoUpdates":[],"`+field+`":null}`).says("No updates requested.")
	c.json("PATCH", there+"/", `{"`+field+`":"`+good+`"}`).says("Updated " + kind + " '" + path + "'.")
	c.json("PATCH", there,
		`{"`+field+`":"`+good+`"}`).says(strings.ToUpper(kind[:1]) + kind[1:] + " '" + path + "' was up-to-date, no update needed.")
	c.json("PATCH", fresh, `{"`+field+`":"`+good+`"}`).fails(404, "Could not find "+kind+" '"+strings.TrimPrefix(fresh, "/")+"'.")
	c.json("PATCH", fresh, `{}`).fails(404, "Could not find "+kind+" '"+strings.TrimPrefix(fresh, "/")+"'.")
}

func versions(c *client) {
	c.do("POST", "/w3c/sosa/1.0", "").fails(404, "Namespace 'w3c' not found.")
	c.do("POST", "/w3c", "").says("Created namespace 'w3c'.")
	c.do("POST", "/w3c/sosa/1.0", "").fails(404, "Model 'w3c/sosa' not found.")
	c.do("POST", "/w3c/sosa", "").says("Created model 'w3c/sosa'.")
	c.json("POST", "/w3c/sosa/1.0",
		`{"defaultFormat":"text/turtle","mongoUpdates":[]}`).says("Created model version 'w3c/sosa/1.0'.")
	c.do("POST", "/w3c/sosa/1.0", "").fails(409, taken)
	c.get("/w3c/sosa/1.0").is(`{"namespace":"w3c","model":"sosa","version":"1.0","formats":{},"defaultFormat":"text/turtle"}`)
	c.get("/w3c/sosa").is(`{"namespace":"w3c","name":"sosa","versions":{"totalCount":1,"items":[{"namespace":"w3c",` +
		`"model":"sosa","version":"1.0","defaultFormat":"text/turtle"}]}}`)
	for _, bad := range []string{".1", "_1", "-1", "%2B1", strings.Repeat("1", 101), "1%2F2", "1%202", "1~2"} {
		c.do("POST", "/w3c/sosa/"+bad, "").refuses(400, "Invalid namespace, model name, or version. ")
		c.get("/w3c/sosa/"+bad).refuses(404, "Could not find model version 'w3c/sosa/")
		c.json("PATCH", "/w3c/sosa/"+bad, `{"defaultFormat":"a"}`).refuses(404, "Could not find model version 'w3c/sosa/")
		c.do("DELETE", "/w3c/sosa/"+bad, "").refuses(404, "Model version 'w3c/sosa/")
	}
	for _, good := range []string{"1", "1.0.0-rc.1+build_5", "1..2", strings.Repeat("v", 100)} {
		c.do("POST", "/w3c/sosa/"+good, "").says("Created model version 'w3c/sosa/" + good + "'.")
		c.do("DELETE", "/w3c/sosa/"+good, "").says("Deleted model version 'w3c/sosa/" + good + "'.")
	}
	updates(c, "/w3c/sosa/2.0", "/w3c/sosa/1.0", "defaultFormat", "model version", "application/rdf+xml", "/a")
	c.json("PATCH", "/w3c/sosa/1.0", `{"defaultFormat":"@unset"}`).says("Updated model version 'w3c/sosa/1.0'.")
	c.get("/w3c/sosa/1.0/").is(`{"namespace":"w3c","model":"sosa","version":"1.0","formats":{}}`)
	c.get("/w3c/sosa/9").fails(404, "Could not find model version 'w3c/sosa/9'.")
	c.get("/w3c/absent/9").fails(404, "Could not find model version 'w3c/absent/9'.")
	c.do("DELETE", "/w3c/absent/1.0", "").fails(404, "Model 'w3c/absent' not found.")
	c.do("DELETE", "/w3c/sosa/9", "").fails(404, "Model version 'w3c/sosa/9' not found.")
	c.upload("/w3c/sosa/1.0", "text/turtle", "text/turtle", "x", "").has(200)
	c.do("DELETE", "/w3c/sosa/1.0", "").fails(400, "Model version 'w3c/sosa/1.0' is not empty. Please delete the content first.")
	c.do("DELETE", "/w3c/sosa/1.0/content?format=text/turtle", "").has(200)
	c.do("DELETE", "/w3c/sosa/1.0", `{"ns":"w3c"}`).says("Deleted model version 'w3c/sosa/1.0'.")
}

func latest(c *client) {
	c.do("POST", "/w3c", "").has(200)
	c.get("/w3c/sosa/latest").fails(404, "Could not find model version 'w3c/sosa/latest'.")
	c.do("POST", "/w3c/sosa", "").has(200)
	const missing = "Could not find the model version 'w3c/sosa/1.0', which 'latestVersion' was pointing to. Please " +
		"update the pointer or create the missing version."
	c.get("/w3c/sosa/latest").fails(404, "The 'latestVersion' pointer is not set for model 'w3c/sosa'.")
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"1.0"}`).has(200)
	c.get("/w3c/sosa/latest").fails(404, missing)
	c.get("/w3c/sosa/latest/content").fails(404, missing)
	c.do("POST", "/w3c/sosa/1.0", "").has(200)
	c.get("/w3c/sosa/latest").is(`{"namespace":"w3c","model":"sosa","version":"1.0","formats":{}}`)
	c.upload("/w3c/sosa/1.0", "text/turtle", "text/turtle", "x", "").has(200)
	c.get("/w3c/sosa/latest/content").holds(200, "text/turtle", "x")
	c.do("POST", "/w3c/sosa/latest", "").refuses(400, "Version tag 'latest' is reserved. ")
	c.json("PATCH", "/w3c/sosa/latest", `{"defaultFormat":"a"}`).fails(400, noLatest)
	c.do("DELETE", "/w3c/sosa/latest", "").fails(400, noLatest)
	c.upload("/w3c/sosa/latest", "a/b", "a/b", "x", "").fails(400, noLatest)
	c.do("DELETE", "/w3c/sosa/latest/content?format=text/turtle", "").fails(400, noLatest)
}

// requests sends methods and paths that no row of the table is for.
func requests(c *client) {
	allow := c.do("PUT", "/w3c", "").fails(405, "HTTP method not allowed.").header.Get("Allow")
	for _, method := range []string{"DELETE", "GET", "HEAD", "PATCH", "POST"} {
		require.Contains(c.t, allow, method)
	}
	options := c.do("OPTIONS", "/w3c/sosa", "")
	require.Equal(c.t, http.StatusNoContent, options.status)
	require.Contains(c.t, options.header.Get("Allow"), "PATCH")
	c.get("/a/b/c/d/e").fails(404, "The requested resource could not be found.")
	c.get("/c/w3c").fails(404, "The requested resource could not be found.")
	c.get("/w3c//sosa").has(307)
	c.get("/w3c/%2e%2e/").fails(404, "Model 'w3c/..' not found.")
	c.get("/w3c/%2e%2e%2fx").fails(404, "Model 'w3c/../x' not found.")
	head := c.do("HEAD", "/", "")
	require.Equal(c.t, http.StatusOK, head.status)
	require.Empty(c.t, head.body)
	c.get("/healthz").holds(200, "text/plain; charset=UTF-8", "ok")
	c.get("/readyz").holds(200, "text/plain; charset=UTF-8", "ready")
	require.Contains(c.t, c.get("/metrics").body, "modelrepo_uploads_total 0")
	require.Equal(c.t, "/docs/", c.get("/docs").header.Get("Location"))
	require.Contains(c.t, c.get("/docs/").body, "../openapi.json")
	require.Contains(c.t, c.get("/openapi.json").body, `"openapi"`)
}
