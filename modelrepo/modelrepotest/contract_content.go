package modelrepotest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

const version = "/w3c/sosa/1.0"

// withVersion creates one version.
func (c *client) withVersion() {
	c.t.Helper()
	c.do("POST", "/w3c", "").has(200)
	c.do("POST", "/w3c/sosa", "").has(200)
	c.do("POST", version, "").has(200)
}

func uploaded(format, data string) string {
	return fmt.Sprintf("Uploaded content in format '%s' for model 'w3c/sosa/1.0'. Checksum: %s", format, md5Hex(data))
}

func defaultWas(format string) string {
	return fmt.Sprintf("The default format of this model version was set to '%s'.'", format)
}

func uploads(c *client) {
	c.upload(version, "text/turtle", "text/turtle", "x", "").fails(404, "Could not find model version 'w3c/sosa/1.0'.")
	c.withVersion()
	c.upload(version, "text/turtle", "text/turtle", "one", "").says(uploaded("text/turtle", "one"), defaultWas("text/turtle"))
	c.upload(version, "text/turtle", "text/turtle", "two", "").fails(400, exists)
	c.upload(version, "text/turtle", "text/turtle", "two", "&overwrite=0").fails(400, exists)
	c.get(version+"/content").holds(200, "text/turtle", "one")
	c.upload(version, "text/turtle", "text/turtle; charset=utf-8", "two", "&overwrite=1").
		says(uploaded("text/turtle", "two"), "Overwrote an earlier version of the content.")
	c.get(version+"/content").holds(200, "text/turtle; charset=utf-8", "two")

	c.upload(version, "a.b/c.d", "text/plain", "x", "").says(uploaded("a.b/c.d", "x"),
		"The Media Type specified in the URL query parameter ('a.b/c.d') does not match the one in the body of the request ('text/plain').")
	c.upload(version, "zip", "application/zip", "", "").says(uploaded("zip", ""),
		"The specified format ('zip') is not a valid Media Type.")
	c.upload(version, "application/octet-stream", "", "raw", "").says(uploaded("application/octet-stream", "raw"))
	c.get(version+"/content?format=zip").holds(200, "application/zip", "")
	c.get(version + "/").is(`{"namespace":"w3c","model":"sosa","version":"1.0","defaultFormat":"text/turtle","formats":{` +
		file("text/turtle", "two", "text/turtle; charset=utf-8") + `,` + file("a.b/c.d", "x", "text/plain") + `,` +
		file("zip", "", "application/zip") + `,` + file("application/octet-stream", "raw", "application/octet-stream") + `}}`)

	for _, bad := range []string{".a", "/a", "-a", "a\x00", "ä", strings.Repeat("f", 101), "a\n"} {
		c.upload(version, bad, "a/b", "x", "").fails(400, badFormat)
	}
	spaced, formType := c.form(field{name: "content", contentType: "a/b", data: "x"})
	c.do("POST", version+"/content?format=a%20b", spaced, "Content-Type: "+formType).fails(400, badFormat)
	c.upload(version, "", "a/b", "x", "").fails(400, needFormat)
	for _, good := range []string{"f", "../..", strings.Repeat("f", 100), "x/../../y", "a//b"} {
		if good[0] == '.' {
			c.upload(version, good, "a/b", "x", "").fails(400, badFormat)
			continue
		}
		c.upload(version, good, "a/b", good, "").has(200)
		c.get(version+"/content?format="+good).holds(200, "a/b", good)
	}
	faults(c)
	digests(c)
}

func file(format, data, contentType string) string {
	sum := sha256.Sum256([]byte(data))
	return fmt.Sprintf(`%q:{"size":%d,"md5":%q,"sha256":%q,"contentType":%q}`, format, len(data), md5Hex(data),
		hex.EncodeToString(sum[:]), contentType)
}

// faults sends invalid multipart bodies. None of them leaves anything behind.
func faults(c *client) {
	const target = version + "/content?format=new"
	good, formType := c.form(field{name: "content", contentType: "a/b", data: strings.Repeat("x", 1000)})
	c.do("POST", target, good, "Content-Type: text/plain").fails(415, wrongType)
	c.do("POST", target, good).fails(415, wrongType)
	c.do("POST", target, good, "Content-Type: multipart/form-data").fails(400, "The Content-Type of the request has no boundary.")
	const incomplete = "The multipart body of the request is malformed or incomplete."
	c.do("POST", target, "", "Content-Type: "+formType).fails(400, incomplete)
	c.do("POST", target, "nothing", "Content-Type: "+formType).fails(400, incomplete)
	for _, cut := range []int{1, 4, 10, 500} {
		c.do("POST", target, good[:len(good)-cut-60], "Content-Type: "+formType).fails(400,
			"The content ended before it was complete. Nothing was stored.")
	}
	body, formType := c.form(field{name: "file", data: "x"})
	c.do("POST", target, body, "Content-Type: "+formType).fails(400, "The form field 'content' is missing.")
	body, formType = c.form(field{name: "content", data: "x"}, field{name: "content", data: "x"})
	c.do("POST", target, body, "Content-Type: "+formType).fails(400,
		"The form field 'content' is there more than once. Nothing was stored.")
	c.get(version+"/content?format=new").fails(404, "The specified format 'new' could not be found for this model version.")
	body, formType = c.form(field{name: "note", data: "x"}, field{name: "content", data: "y"}, field{name: "end", data: "z"})
	c.do("POST", target, body, "Content-Type: "+formType).has(200)
	c.get(version+"/content?format=new").holds(200, "application/octet-stream", "y")
	c.do("DELETE", target, "").has(200)
}

// digests sends announced digests, on the request and on the part.
func digests(c *client) {
	const target, data = version + "/content?format=digest", "some bytes"
	sum := sha256.Sum256([]byte(data))
	sha := "Repr-Digest: sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	md5bytes, err := hex.DecodeString(md5Hex(data))
	require.NoError(c.t, err)
	md := "Content-MD5: " + base64.StdEncoding.EncodeToString(md5bytes)
	other := sha256.Sum256([]byte("other"))
	wrongSHA := "Repr-Digest: sha-256=:" + base64.StdEncoding.EncodeToString(other[:]) + ":"
	wrongMD5 := "Content-MD5: " + base64.StdEncoding.EncodeToString(make([]byte, 16))
	wrong512 := "Repr-Digest: sha-512=:" + base64.StdEncoding.EncodeToString(make([]byte, 64)) + ":"
	send := func(onRequest, onPart []string) answer {
		body, formType := c.form(field{name: "content", data: data, header: onPart})
		return c.do("POST", target, body, append(onRequest, "Content-Type: "+formType)...)
	}
	for _, bad := range []struct{ header, algorithm string }{{wrongSHA, "SHA-256"}, {wrongMD5, "MD5"}, {wrong512, "SHA-512"}} {
		sentence := "The content does not have the announced " + bad.algorithm + " digest. Nothing was stored."
		send([]string{bad.header}, nil).fails(400, sentence)
		send(nil, []string{bad.header}).fails(400, sentence)
	}
	for _, bad := range []string{"Content-MD5: x", "Repr-Digest: sha-256=x", "Repr-Digest: unixsum=:AAAA:", "Repr-Digest: ,"} {
		send([]string{bad}, nil).refuses(400, "parse ")
		send(nil, []string{bad}).refuses(400, "parse ")
	}
	send([]string{sha}, []string{wrongSHA}).refuses(400, "modelrepo: not valid: two different SHA-256 digests")
	c.get(target).has(404)
	send([]string{sha, md}, []string{sha, md}).has(200)
	answer := c.get(target).holds(200, "application/octet-stream", data)
	require.Equal(c.t, sha, "Repr-Digest: "+answer.header.Get("Repr-Digest"))
}

func downloads(c *client) {
	c.get(version+"/content").fails(404, "Could not find model version 'w3c/sosa/1.0'.")
	c.withVersion()
	c.get(version+"/content").fails(404,
		"The 'format' parameter was not specified and the default format for this model version is not set. Please "+
			"specify the 'format' query parameter.")
	c.json("PATCH", version, `{"defaultFormat":"text/turtle"}`).has(200)
	c.get(version+"/content").refuses(404,
		"The 'format' parameter was not specified and the default format 'text/turtle' could not be found")
	c.get(version+"/content?format=a/b").fails(404, "The specified format 'a/b' could not be found for this model version.")
	c.get(version+"/content?format=../x").fails(404, "The specified format '../x' could not be found for this model version.")
	c.upload(version, "application/json", "application/json", "{}", "").says(uploaded("application/json", "{}"))
	c.upload(version, "text/turtle", "text/turtle", "turtle", "").says(uploaded("text/turtle", "turtle"))
	c.do("GET", version+"/content/", `{"empty":true}`).holds(200, "text/turtle", "turtle")
	c.get(version+"/content?format=application/json").holds(200, "application/json", "{}")
	head := c.do("HEAD", version+"/content", "")
	require.Equal(c.t, http.StatusOK, head.status)
	require.Equal(c.t, "6", head.header.Get("Content-Length"))
	require.Equal(c.t, quoteTag("turtle"), head.header.Get("ETag"))
	require.Contains(c.t, head.header.Get("Content-Security-Policy"), "sandbox")
	require.Empty(c.t, head.body)
}

func deletes(c *client) {
	const target = version + "/content?format=text/turtle"
	c.do("DELETE", target, "").fails(404, "Model version 'w3c/sosa/1.0' not found.")
	c.withVersion()
	c.do("DELETE", target, "").fails(404, "Could not find file with format 'text/turtle' in model version 'w3c/sosa/1.0'.")
	c.do("DELETE", version+"/content", "").fails(400, needFormat)
	c.do("DELETE", version+"/content?format=-x", "").fails(400, badFormat)
	c.upload(version, "text/turtle", "text/turtle", "x", "").has(200)
	c.do("DELETE", target, `{"empty":false}`).says("Deleted file with format 'text/turtle' in model version 'w3c/sosa/1.0'.")
	c.get(target).has(404)
	c.get(version).is(`{"namespace":"w3c","model":"sosa","version":"1.0","formats":{},"defaultFormat":"text/turtle"}`)
}

func short(c *client) {
	c.withVersion()
	c.get("/c/w3c/sosa").fails(404, "The 'latestVersion' pointer is not set for model 'w3c/sosa'.")
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"1.0"}`).has(200)
	c.upload(version, "text/turtle", "text/turtle", "turtle", "").has(200)
	c.upload(version, "a.b/c/d", "x/y", "other", "").has(200)
	c.do("POST", "/w3c/sosa/content", "").has(200) // a version with the name of a path
	c.upload("/w3c/sosa/content", "f", "x/y", "unlucky", "").has(200)
	for path, want := range map[string]string{
		"/c/w3c/sosa": "turtle", "/c/w3c/sosa/": "turtle", "/c/w3c/sosa/1.0": "turtle", "/c/w3c/sosa/1.0/": "turtle",
		"/c/w3c/sosa/latest":          "turtle",
		"/c/w3c/sosa/1.0/text/turtle": "turtle", "/c/w3c/sosa/1.0/text%2Fturtle": "turtle", "/c/w3c/sosa/latest/a.b/c/d/": "other",
		"/c/w3c/sosa/content": "unlucky", "/c/w3c/sosa/content/f": "unlucky",
	} {
		require.Equal(c.t, want, c.get(path).has(200).body, path)
	}
	c.get("/c/w3c/sosa/1.0/text").fails(404, "The specified format 'text' could not be found for this model version.")
	c.get("/c/w3c/absent").has(404)
	c.do("POST", "/c/w3c/sosa", "").fails(405, "HTTP method not allowed.")
}

func quoteTag(data string) string {
	sum := sha256.Sum256([]byte(data))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func conditions(c *client) {
	c.withVersion()
	const target = version + "/content?format=f"
	const unmet = "The content in format 'f' is not the one that the request's conditions name."
	one, two := quoteTag("one"), quoteTag("two")
	c.upload(version, "f", "a/b", "one", "", "If-Match: *").fails(412, unmet)
	require.Equal(c.t, one, c.upload(version, "f", "a/b", "one", "", "If-None-Match: *").has(200).header.Get("ETag"))
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-None-Match: *").fails(412, unmet)
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-Match: "+two).fails(412, unmet)
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-Match: W/"+one).fails(412, unmet)
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-Match: one").fails(400,
		"The 'If-Match' header is not a list of entity tags.")
	c.upload(version, "f", "a/b", "two", "&overwrite=1", `If-Match: "a,b"`).fails(412, unmet)
	c.upload(version, "f", "a/b", "two", "&overwrite=1", `If-Match: "*"`).fails(400,
		"The 'If-Match' header is not a list of entity tags.")
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-None-Match: W/"+one).fails(412, unmet)
	c.upload(version, "f", "a/b", "two", "&overwrite=1", "If-Match: "+two+` , `+one).has(200)

	c.get(target, "If-None-Match: "+two).has(304)
	c.get(target, `If-None-Match: "x", W/`+two).has(304)
	c.get(target, "If-None-Match: "+one).holds(200, "a/b", "two")
	c.get(target, "If-Match: "+two).holds(200, "a/b", "two")
	c.get(target, "If-Match: "+one).fails(412, "The content is not the one that the request's conditions name.")

	c.do("DELETE", target, "", "If-Match: "+one).fails(412, unmet)
	c.do("DELETE", target, "", "If-None-Match: "+two).fails(412, unmet)
	c.do("DELETE", target, "", "If-Match: "+two).has(200)
}

func formatsInURLs(c *client) {
	c.withVersion()
	body, formType := c.form(field{name: "content", contentType: "application/rdf+xml", data: "<rdf/>"})
	const target = version + "/content?format=application/rdf+xml" // a plus sign in a query means a space
	c.do("POST", target, body, "Content-Type: "+formType).has(200)
	require.Contains(c.t, c.get(version).body, `"application/rdf+xml":`)
	for _, path := range []string{target, version + "/content?format=application/rdf%2Bxml", "/c/w3c/sosa/1.0/application/rdf+xml"} {
		c.get(path).holds(200, "application/rdf+xml", "<rdf/>")
	}
	c.get("/w3c/sosa?f.defaultFormat=application/rdf+xml").has(200)
	c.do("DELETE", target, "").has(200)

	c.upload(version, "y", "a/b", "another", "").has(200)
	dots := c.upload(version, "x/../y", "a/b", "dots", "").has(200)
	require.Contains(c.t, dots.body, "has dot segments")
	for _, path := range []string{"/c/w3c/sosa/1.0/x/../y", "/c/w3c/sosa/1.0/x/../y/", "/c/w3c/sosa/1.0/x%2F..%2Fy",
		version + "/content?format=x/../y"} {
		c.get(path).holds(200, "a/b", "dots")
	}
	c.get("/c/w3c/sosa/1.0/./y").fails(404, "The specified format './y' could not be found for this model version.")
	c.get("/c/../w3c/sosa/1.0/y").has(307)
}

func ranges(c *client) {
	c.withVersion()
	const target = version + "/content?format=f"
	c.upload(version, "f", "a/b", "0123456789", "").has(200)
	for given, want := range map[string]string{"bytes=0-0": "0", "bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89",
		"bytes=8-99": "89"} {
		part := c.get(target, "Range: "+given).holds(206, "a/b", want)
		require.Contains(c.t, part.header.Get("Content-Range"), "/10")
	}
	c.get(target, "Range: bytes=1-2", "If-Range: "+quoteTag("other")).holds(200, "a/b", "0123456789")
	c.get(target, "Range: bytes=1-2", "If-Range: "+quoteTag("0123456789")).holds(206, "a/b", "12")
	c.get(target, "Range: bytes=1-2", "If-Range: W/"+quoteTag("0123456789")).holds(200, "a/b", "0123456789")
	beyond := c.get(target, "Range: bytes=10-").fails(416, "The requested range is not in the content.")
	require.Equal(c.t, "bytes */10", beyond.header.Get("Content-Range"))
	// RFC 9110 sections 14.1.2 and 14.2.
	for _, none := range []string{"bytes=-0", "bytes=-000", "Bytes= -0"} {
		refused := c.get(target, "Range: "+none).fails(416, "The requested range is not in the content.")
		require.Equal(c.t, "bytes */10", refused.header.Get("Content-Range"))
	}
	c.get(target, "Range: bytes=-0,1-2").holds(206, "a/b", "12")
	c.get(target, "Range: BYTES=1-2").holds(206, "a/b", "12")
	for _, unknown := range []string{"items=0-5", "items=-0", "lines"} {
		c.get(target, "Range: "+unknown).holds(200, "a/b", "0123456789")
	}
	parts := c.get(target, "Range: bytes=0-1,8-9").has(206)
	require.Contains(c.t, parts.header.Get("Content-Type"), "multipart/byteranges")
	c.upload(version, "empty", "a/b", "", "").has(200)
	c.get(version+"/content?format=empty", "Range: bytes=0-").holds(200, "a/b", "") // as a reader that starts at 0 expects
}

func pages(c *client) {
	c.do("POST", "/w3c", "").has(200)
	c.get("/w3c?page=1").is(`{"name":"w3c","models":{"items":[],"totalCount":0,"page":1,"pageSize":20}}`)
	for i := range 7 {
		c.do("POST", fmt.Sprintf("/w3c/m%d", i), "").has(200)
	}
	item := func(i int) string { return fmt.Sprintf(`{"name":"m%d","namespace":"w3c"}`, i) }
	c.get("/w3c?page=2&page_size=3").is(`{"name":"w3c","models":{"items":[` + item(3) + `,` + item(4) + `,` + item(5) +
		`],"totalCount":7,"page":2,"pageSize":3}}`)
	c.get("/w3c?page_size=3&page=3").is(`{"name":"w3c","models":{"items":[` + item(6) + `],"totalCount":7,"page":3,"pageSize":3}}`)
	c.get("/w3c?page=2147483648&page_size=50").is(`{"name":"w3c","models":{"items":[],"totalCount":7,"page":2147483648,"pageSize":50}}`)
	c.do("DELETE", "/w3c/m1", "").has(200)
	c.get("/w3c?page_size=2").is(`{"name":"w3c","models":{"items":[` + item(0) + `,` + item(2) + `],"totalCount":6,"page":1,"pageSize":2}}`)
	c.get("/?page_size=1").is(`{"namespaces":{"items":[{"name":"w3c"}],"totalCount":1,"page":1,"pageSize":1}}`)
	c.do("POST", "/w3c/m2/1.0", "").has(200)
	c.get("/w3c/m2?page=1").is(`{"name":"m2","namespace":"w3c","versions":{"items":[{"version":"1.0","model":"m2",` +
		`"namespace":"w3c"}],"totalCount":1,"page":1,"pageSize":20}}`)
	for _, bad := range []string{"page=0", "page=-1", "page=x", "page=", "page=99999999999999999999", "page_size=0",
		"page_size=51", "page_size=1.5"} {
		for _, path := range []string{"/", "/w3c", "/w3c/m2"} {
			c.get(path+"?"+bad).refuses(400, "The 'page")
		}
	}
}
