package modelrepotest

import (
	"fmt"
	"strings"
	"testing"
)

const validating = "Error validating the body of the request: "

// places are one namespace, model and version, and how each is called.
var places = []struct{ path, kind, name string }{
	{"/w3c", "namespace", "w3c"}, {"/w3c/sosa", "model", "w3c/sosa"}, {"/w3c/sosa/1.0", "model version", "w3c/sosa/1.0"},
}

// described is the body that a GET of the place answers, with more members.
func described(path, members string) string {
	return map[string]string{
		"/w3c":          `{"name":"w3c"` + members + `}`,
		"/w3c/sosa":     `{"name":"sosa","namespace":"w3c"` + members + `}`,
		"/w3c/sosa/1.0": `{"version":"1.0","model":"sosa","namespace":"w3c","formats":{}` + members + `}`,
	}[path]
}

// metadata sets, replaces and removes metadata of each kind, deepest last, so
// that each is read before it has children.
func metadata(c *client) {
	for _, at := range places {
		created := fmt.Sprintf("Created %s '%s'.", at.kind, at.name)
		updated := fmt.Sprintf("Updated %s '%s'.", at.kind, at.name)
		upToDate := strings.ToUpper(at.kind[:1]) + at.kind[1:] + " '" + at.name + "' was up-to-date, no update needed."
		patch := func(body string) answer { c.t.Helper(); return c.json("PATCH", at.path, body) }
		shows := func(members string) { c.t.Helper(); c.get(at.path).is(described(at.path, members)) }

		c.json("POST", at.path,
			`{"metadata":{"author":"W3C <a&b> \u0000 zażółć 🜨","empty":"","tags":["a","b",""],"one":["x"],"none":[]}}`).says(created)
		first := `"author":"W3C <a&b> \u0000 zażółć 🜨","empty":"","one":"x"`
		shows(`,"metadata":{` + first + `,"tags":["a","b",""]}`)
		patch(`{"metadata":{"tags":["b","a"],"new-1_":"n"},"mongoUpdates":[]}`).says(updated)
		shows(`,"metadata":{` + first + `,"tags":["b","a"],"new-1_":"n"}`)
		patch(`{"metadata":{"tags":["b","a"]}}`).says(upToDate)
		patch(`{"metadata":{"absent":"@unset","one":[]}}`).says(upToDate)
		patch(`{"metadata":{}}`).says("No updates requested.")
		patch(`{"metadata":null}`).says("No updates requested.")
		patch(`{}`).says("No updates requested.")
		patch(`{"metadata":{"author":"@unset","empty":"@unset","new-1_":"m"}}`).says(updated)
		shows(`,"metadata":{"one":"x","tags":["b","a"],"new-1_":"m"}`)
		patch(`{"metadata":"@unset"}`).says(updated)
		patch(`{"metadata":"@unset"}`).says(upToDate)
		shows("")
		patch(`{"metadata":{"kept":"yes"}}`).says(updated)
	}
	const kept = `"metadata":{"kept":"yes"}`
	c.get("/").is(`{"namespaces":{"totalCount":1,"items":[{"name":"w3c",` + kept + `}]}}`)
	c.get("/w3c").is(`{"name":"w3c",` + kept + `,"models":{"totalCount":1,"items":[{"name":"sosa","namespace":"w3c",` + kept + `}]}}`)
	c.get("/w3c/sosa?page=1").is(`{"name":"sosa","namespace":"w3c",` + kept + `,"versions":{"page":1,"pageSize":20,` +
		`"totalCount":1,"items":[{"version":"1.0","model":"sosa","namespace":"w3c",` + kept + `}]}}`)
	// What is there besides stays.
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"1.0"}`).has(200)
	c.json("PATCH", "/w3c/sosa/latest", `{"metadata":{"a":"b"}}`).fails(400, noLatest)
	c.upload("/w3c/sosa/1.0", "f", "a/b", "x", "").has(200)
	c.get("/w3c/sosa/latest").is(`{"version":"1.0","model":"sosa","namespace":"w3c","defaultFormat":"f","formats":{` + file("f",
		"x", "a/b") + `},` + kept + `}`)
	c.json("PATCH", "/absent", `{"metadata":{"a":"b"}}`).fails(404, "Could not find namespace 'absent'.")
	c.json("PATCH", "/no", `{"metadata":{"a":"b"}}`).fails(404, "Could not find namespace 'no'.")
	c.json("PATCH", "/w3c", ``).fails(400, "Request body is required.")
	c.json("PATCH", "/w3c", `{"name":"x"}`).fails(400, validating+"'name' is not a known field")
	c.do("PATCH", "/w3c", `{}`).fails(415, wrongType)
	// Version 0.1 ignores the body that comes with a new namespace.
	for i, ignored := range []string{`{"ns":"w3c"}`, `[{"metadata":1}]`, `{"metadata":null}`, `{`} {
		c.json("POST", fmt.Sprintf("/ignored%d", i), ignored).has(200)
		c.get(fmt.Sprintf("/ignored%d", i)).is(fmt.Sprintf(`{"name":"ignored%d"}`, i))
	}
	c.do("POST", "/plain", `{"metadata":{"a":"b"}}`, "Content-Type: text/plain").has(200)
	c.get("/plain").is(`{"name":"plain"}`)
}

func keys(count int, from int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(`"k%d":"v%d"`, from+i, i))
	}
	return strings.Join(all, ",")
}

func values(count int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`"`+value+`",`, count), ",") + "]"
}

func metadataBounds(c *client) {
	for _, at := range places {
		name := strings.Repeat("k", 100)
		full := `"` + name + `":` + values(32, strings.Repeat("ä", 1024))
		c.json("POST", at.path, `{"metadata":{`+full+`,`+keys(63, 0)+`}}`).has(200)
		c.get(at.path).is(described(at.path, `,"metadata":{`+full+`,`+keys(63, 0)+`}`))
		const exceeds = "Pre-update check failed: the number of metadata keys would exceed the allowed limit: they " +
			"would be 65, the most is 64."
		c.json("PATCH", at.path, `{"metadata":{"new":"v"}}`).fails(400, exceeds)
		c.json("PATCH", at.path, `{"metadata":{"new":"v","absent":"@unset"}}`).fails(400, exceeds)
		c.json("PATCH", at.path, `{"metadata":{"new":"v","k0":"@unset"}}`).has(200)
		c.json("PATCH", at.path, `{"metadata":"@unset"}`).has(200)

		if at.kind != "model" || testing.Short() {
			continue // the following is slow
		}
		// Everything at its bound at once is more than a body can have without.
		var all []string
		for i := range 64 {
			all = append(all, fmt.Sprintf(`"k%d":%s`, i, values(32, strings.Repeat("v", 1024))))
		}
		c.json("PATCH", at.path, `{"metadata":{`+strings.Join(all, ",")+`}}`).has(200)
		c.get(at.path).is(described(at.path, `,"metadata":{`+strings.Join(all, ",")+`}`))
		c.json("PATCH", at.path, `{"metadata":{"k":"v"},"mongoUpdates":"`+strings.Repeat("x", 1<<20)+`"}`).fails(413,
			"The request body is too large.")
		c.json("PATCH", at.path, `{"metadata":{"k":"`+strings.Repeat("x", 9<<20)+`"}}`).fails(413,
			"The request body is too large.")
		wide := strings.ReplaceAll(strings.Join(all, ","), "v", "🜨")
		c.json("PATCH", at.path, `{"metadata":{`+wide[:strings.Index(wide, `,"k50"`)]+`}}`).refuses(413,
			"Pre-update check failed: the metadata would be too large: ")
		c.json("PATCH", at.path, `{"metadata":"@unset"}`).has(200)
	}
}

func metadataFaults(c *client) {
	long := strings.Repeat("x", 1025)
	faults := map[string]string{
		`{"metadata":7}`:                          malformed + " 'metadata' must be an object.",
		`{"metadata":[]}`:                         malformed + " 'metadata' must be an object.",
		`{"metadata":"unset"}`:                    malformed + " 'metadata' must be an object.",
		`{"metadata":{"key":1}}`:                  malformed + " 'metadata.key' must be a string or an array of strings.",
		`{"metadata":{"key":null}}`:               malformed + " 'metadata.key' must be a string or an array of strings.",
		`{"metadata":{"a":"b","key":["x",null]}}`: malformed + " 'metadata.key' must be a string or an array of strings.",
		`{"metadata":{"key":{"a":"b"}}}`:          malformed + " 'metadata.key' must be a string or an array of strings.",
		`{"metadata":{"key":[["a"]]}}`:            malformed + " 'metadata.key' must be a string or an array of strings.",
		"{\"metadata\":{\"key\":\"\xff\"}}":       malformed,
		`{"metadata":{"":"v"}}`: validating + `Invalid metadata key '' in 'metadata'. ` +
			`Metadata keys must match regex: ^[\w-]{1,100}$`,
		`{"metadata":{"a.b":"v"}}`: validating + `Invalid metadata key 'a.b' in 'metadata'. ` +
			`Metadata keys must match regex: ^[\w-]{1,100}$`,
		`{"metadata":{"ä":"v"}}`: validating + `Invalid metadata key 'ä' in 'metadata'. ` +
			`Metadata keys must match regex: ^[\w-]{1,100}$`,
		`{"metadata":{"k\n":"v"}}`: validating + "Invalid metadata key 'k\n' in 'metadata'. " +
			"Metadata keys must match regex: ^[\\w-]{1,100}$",
		`{"metadata":{"@unset":"v"}}`: validating + `Invalid metadata key '@unset' in 'metadata'. ` +
			`Metadata keys must match regex: ^[\w-]{1,100}$`,
		`{"metadata":{"` + long[:101] + `":"v"}}`: validating +
			`Invalid metadata key '` + long[:101] + `' in 'metadata'. Metadata keys must match regex: ^[\w-]{1,100}$`,
		`{"metadata":{"key":"` + long + `"}}`: validating + "'metadata.key' is too long: it has 1025 characters, the most is 1024",
		`{"metadata":{"key":["","` + long + `"]}}`: validating + "'metadata.key' is too long: its value [1] has " +
			"1025 characters, the most is 1024",
		`{"metadata":{"key":["a","@unset"]}}`:          validating + "'metadata.key[1]' cannot be unset on its own",
		`{"metadata":{"key":` + values(33, "v") + `}}`: validating + "'metadata.key' has too many values: 33, the most is 32",
		`{"metadata":{` + keys(65, 0) + `}}`:           validating + "Too many metadata keys in 'metadata': 65, the most is 64",
		`{"metadata":{` + keys(1001, 0) + `}}`:         validating + "Too many metadata keys in 'metadata': 1001, the most is 64",
	}
	for i, at := range places {
		for body, sentence := range faults {
			if sentence == malformed && i == 0 {
				continue // not JSON at all, which version 0.1 ignores here
			}
			c.json("POST", at.path, body).fails(400, sentence)
		}
		c.json("POST", at.path, `{"metadata":{"key":"@unset"}}`).fails(400,
			validating+"'metadata.key' cannot be unset during creation")
		c.json("POST", at.path, `{"metadata":"@unset"}`).fails(400, validating+"'metadata' cannot be unset during creation")
		c.get(at.path).has(404)
		c.json("POST", at.path, `{"metadata":{"kept":"yes"}}`).has(200)
		for body, sentence := range faults {
			c.json("PATCH", at.path, body).fails(400, sentence)
		}
		c.get(at.path).is(described(at.path, `,"metadata":{"kept":"yes"}`))
	}
}
