package modelrepotest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func aliases(c *client) {
	c.withVersion()
	c.json("PATCH", "/w3c/sosa", `{"aliases":{"stable":"1.0","next":"2.0"}}`).says("Updated model 'w3c/sosa'.")
	c.json("PATCH", "/w3c/sosa", `{"aliases":{"stable":"1.0"}}`).says("Model 'w3c/sosa' was up-to-date, no update needed.")
	c.json("PATCH", "/w3c/sosa", `{"aliases":{}}`).says("No updates requested.")
	c.get("/w3c").is(`{"name":"w3c","models":{"totalCount":1,"items":[{"name":"sosa","namespace":"w3c",` +
		`"aliases":{"stable":"1.0","next":"2.0"}}]}}`)
	c.upload(version, "f", "a/b", "x", "").has(200)
	real := `{"namespace":"w3c","model":"sosa","version":"1.0","defaultFormat":"f","formats":{` + file("f", "x", "a/b") + `}}`
	c.get("/w3c/sosa/stable").is(real)
	c.get("/w3c/sosa/1.0").is(real)
	for _, path := range []string{"/w3c/sosa/stable/content", "/w3c/sosa/stable/content/?format=f", "/c/w3c/sosa/stable",
		"/c/w3c/sosa/stable/f"} {
		c.get(path).holds(200, "a/b", "x")
	}
	c.do("HEAD", "/w3c/sosa/stable/content", "").has(200)
	const missing = "Could not find the model version 'w3c/sosa/2.0', which the alias 'next' was pointing to. " +
		"Please update the pointer or create the missing version."
	c.get("/w3c/sosa/next").fails(404, missing)
	c.get("/w3c/sosa/next/content").fails(404, missing)

	const refused = "The 'stable' tag cannot be used for writes."
	c.json("PATCH", "/w3c/sosa/stable", `{"defaultFormat":"a"}`).fails(400, refused)
	c.do("DELETE", "/w3c/sosa/stable", "").fails(400, refused)
	c.do("DELETE", "/w3c/sosa/stable?force=1", "").fails(400, refused)
	c.upload("/w3c/sosa/stable", "g", "a/b", "x", "").fails(400, refused)
	c.do("DELETE", "/w3c/sosa/stable/content?format=f", "").fails(400, refused)
	c.do("POST", "/w3c/sosa/stable", "").fails(400,
		"Version tag 'stable' is reserved. Please choose another tag. It is an alias of model 'w3c/sosa'.")
	c.get("/w3c/sosa/1.0").is(real)

	// One alias moves, one is removed; a version may have its name then.
	c.json("PATCH", "/w3c/sosa",
		`{"aliases":{"next":"1.0","stable":"@unset"},"latestVersion":"1.0"}`).says("Updated model 'w3c/sosa'.")
	c.get("/w3c/sosa/next").is(real)
	c.get("/w3c/sosa/stable").fails(404, "Could not find model version 'w3c/sosa/stable'.")
	c.json("PATCH", "/w3c/sosa", `{"aliases":{"stable":"@unset"}}`).says("Model 'w3c/sosa' was up-to-date, no update needed.")
	c.do("POST", "/w3c/sosa/stable", "").has(200)
	c.json("PATCH", "/w3c/sosa", `{"aliases":{"stable":"1.0"}}`).fails(409,
		"'stable' cannot be an alias of model 'w3c/sosa', because it is the tag of a version.")
	c.json("POST", "/w3c/ssn", `{"aliases":{"stable":"1.0"}}`).says("Created model 'w3c/ssn'.")
	c.get("/w3c/ssn").is(`{"name":"ssn","namespace":"w3c","aliases":{"stable":"1.0"}}`)
	c.do("POST", "/w3c/ssn/stable", "").refuses(400, "Version tag 'stable' is reserved. ")
	// An alias is not followed twice.
	c.json("PATCH", "/w3c/ssn", `{"aliases":{"more":"stable"},"latestVersion":"stable"}`).has(200)
	c.get("/w3c/ssn/more").refuses(404,
		"Could not find the model version 'w3c/ssn/stable', which the alias 'more' was pointing to.")
	c.get("/w3c/ssn/latest").refuses(404,
		"Could not find the model version 'w3c/ssn/stable', which 'latestVersion' was pointing to.")
}

func aliasedVersions(c *client) {
	c.withVersion()
	c.json("PATCH", "/w3c/sosa", `{"latestVersion":"1.0","aliases":{"production":"1.0","b":"1.0","other":"2.0"}}`).has(200)
	c.do("DELETE", version, "").fails(409, "Aliases of model 'w3c/sosa' name the version '1.0': 'b', 'production'. "+
		"Please change them first. To delete them together with the version, the 'force' parameter must be set to '1'.")
	c.get(version).has(200)
	c.json("PATCH", version, `{"defaultFormat":"f"}`).says("Updated model version 'w3c/sosa/1.0'.")
	c.upload(version, "f", "a/b", "x", "").has(200)
	c.do("DELETE", version+"?force=1", "").refuses(400, "Model version 'w3c/sosa/1.0' is not empty.")
	c.get("/w3c/sosa/production").has(200)
	c.do("DELETE", version+"/content?format=f", "").has(200)
	c.do("DELETE", version+"?force=1", "").is(`{"message":"Deleted model version 'w3c/sosa/1.0'.","aliases":["b","production"],` +
		`"wasLatest":true,"warnings":["The alias 'b', which was pointing to the version, was deleted, too.",` +
		`"The alias 'production', which was pointing to the version, was deleted, too.",` +
		`"The 'latestVersion' of model 'w3c/sosa' is still pointing to the version. Please update the pointer."]}`)
	c.get("/w3c/sosa").is(`{"name":"sosa","namespace":"w3c","latestVersion":"1.0","aliases":{"other":"2.0"}}`)
	c.get("/w3c/sosa/production").has(404)
	c.do("POST", version, "").has(200)
	c.do("DELETE", version, "").is(`{"message":"Deleted model version 'w3c/sosa/1.0'.","wasLatest":true,"warnings":[` +
		`"The 'latestVersion' of model 'w3c/sosa' is still pointing to the version. Please update the pointer."]}`)
}

func aliasFaults(c *client) {
	c.do("POST", "/w3c", "").has(200)
	c.do("POST", "/w3c/sosa", "").has(200)
	many := func(count int) string {
		var all []string
		for i := range count {
			all = append(all, fmt.Sprintf(`"a%d":"1.0"`, i))
		}
		return `{"aliases":{` + strings.Join(all, ",") + `}}`
	}
	for body, sentence := range map[string]string{
		`{"aliases":7}`:                validating + "'aliases' is in invalid format",
		`{"aliases":"@unset"}`:         validating + "'aliases' is in invalid format",
		`{"aliases":{"a":1}}`:          validating + "'aliases' is in invalid format",
		`{"aliases":{"a":null}}`:       validating + "'aliases.a' is in invalid format",
		`{"aliases":{"a":""}}`:         validating + "'aliases.a' is in invalid format",
		`{"aliases":{"a":"-1"}}`:       validating + "'aliases.a' is in invalid format",
		`{"aliases":{"a":"latest"}}`:   validating + "'aliases.a' is in invalid format",
		`{"aliases":{"latest":"1.0"}}`: validating + "'aliases.latest' is not an alias, use 'latestVersion'",
		`{"aliases":{".a":"1.0"}}`: validating + "the alias '.a' in 'aliases' is in invalid format. Aliases " +
			"must match regex: ^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$",
		many(65): validating + "'aliases' has too many names: 65, the most is 64",
	} {
		c.json("POST", "/w3c/ssn", body).fails(400, sentence)
		c.json("PATCH", "/w3c/sosa", body).fails(400, sentence)
	}
	c.json("POST", "/w3c/ssn", `{"aliases":{"a":"@unset"}}`).fails(400, validating+"'aliases.a' cannot be unset during creation")
	c.json("PATCH", "/w3c/sosa", many(64)).has(200)
	c.json("PATCH", "/w3c/sosa", `{"aliases":{"b":"1.0"}}`).fails(400,
		"Pre-update check failed: the number of aliases would exceed the allowed limit: they would be 65, the most is 64.")
}

func immutable(c *client) {
	c.json("POST", "/w3c", "").has(200)
	c.json("POST", "/w3c/sosa", "").has(200)
	c.json("POST", version, `{"immutable":true}`).fails(400, validating+"'immutable' cannot be set during creation")
	c.do("POST", version, "").has(200)
	c.upload(version, "f", "a/b", "x", "").has(200)
	for _, bad := range []string{"false", `"true"`, "1", "{}"} {
		c.json("PATCH", version, `{"immutable":`+bad+`}`).fails(400, validating+"'immutable' can only be set to true")
	}
	c.json("PATCH", version, `{"immutable":null}`).says("No updates requested.")
	c.json("PATCH", version,
		`{"immutable":true,"defaultFormat":"f","metadata":{"a":"b"}}`).says("Updated model version 'w3c/sosa/1.0'.")
	frozen := `{"namespace":"w3c","model":"sosa","version":"1.0","defaultFormat":"f","immutable":true,` +
		`"metadata":{"a":"b"},"formats":{` + file("f", "x", "a/b") + `}}`
	c.get(version).is(frozen)
	c.get("/w3c/sosa").is(`{"name":"sosa","namespace":"w3c","versions":{"totalCount":1,"items":[{"version":"1.0",` +
		`"model":"sosa","namespace":"w3c","defaultFormat":"f","immutable":true,"metadata":{"a":"b"}}]}}`)
	const refused = "Model version 'w3c/sosa/1.0' is immutable. Neither it nor its content can be changed. Please " +
		"create a new version instead."
	c.upload(version, "g", "a/b", "y", "").fails(409, refused)
	c.upload(version, "f", "a/b", "y", "&overwrite=1").fails(409, refused)
	c.do("DELETE", version+"/content?format=f", "").fails(409, refused)
	c.json("PATCH", version, `{"metadata":{"a":"c"}}`).fails(409, refused)
	c.json("PATCH", version, `{"metadata":"@unset"}`).fails(409, refused)
	c.json("PATCH", version, `{"defaultFormat":"@unset"}`).fails(409, refused)
	c.json("PATCH", version,
		`{"immutable":true,"metadata":{"a":"b"}}`).says("Model version 'w3c/sosa/1.0' was up-to-date, no update needed.")
	c.do("DELETE", version, "").fails(409,
		"Model version 'w3c/sosa/1.0' is immutable. To delete it together with its content, the 'force' parameter must be set to '1'.")
	c.get(version).is(frozen)
	c.get(version+"/content").holds(200, "a/b", "x")
	require.Equal(c.t, "immutable", c.do("DELETE", version+"?force=0", "").has(409).header.Get("X-Error-Code"))
	c.do("DELETE", version+"?force=1", "").says("Deleted model version 'w3c/sosa/1.0'.")
	c.get(version).has(404)
	c.do("DELETE", version+"?force=1", "").has(404)
	// The parameter force has no other use.
	c.do("POST", version, "").has(200)
	c.upload(version, "f", "a/b", "x", "").has(200)
	c.do("DELETE", version+"?force=1", "").fails(400,
		"Model version 'w3c/sosa/1.0' is not empty. Please delete the content first.")
}

func childQuotas(t *testing.T, open Open) {
	c := newLimited(t, open, modelrepo.Limits{ModelsPerNamespace: 2, VersionsPerModel: 3, MetadataBytes: 20})
	c.do("POST", "/w3c", "").has(200)
	c.do("POST", "/w3c/a", "").has(200)
	c.do("POST", "/w3c/b", "").has(200)
	c.do("POST", "/w3c/a", "").fails(409, taken)
	const full = "Namespace 'w3c' has as many models as it can have: 2."
	require.Equal(t, "quota", c.do("POST", "/w3c/c", "").fails(507, full).header.Get("X-Error-Code"))
	c.get("/w3c/c").has(404)
	c.do("DELETE", "/w3c/a", "").has(200)
	c.do("POST", "/w3c/c", "").has(200)
	c.do("POST", "/w3c/d", "").fails(507, full)
	c.json("PATCH", "/w3c/b", `{"metadata":{"a":"123456"}}`).has(200)
	c.json("PATCH", "/w3c/b", `{"metadata":{"b":"12345678901"}}`).fails(413,
		"Pre-update check failed: the metadata would be too large: they would take 32 bytes, the most is 20.")

	var creators sync.WaitGroup
	var created atomic.Int64
	for i := range 12 {
		creators.Go(func() {
			err := c.store.CreateVersion(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "b", Version: fmt.Sprint("v", i)},
				modelrepo.VersionUpdate{})
			if err == nil {
				created.Add(1)
			} else {
				require.ErrorIs(t, err, modelrepo.ErrQuota)
			}
		})
	}
	creators.Wait()
	require.Equal(t, int64(3), created.Load())
	_, total := c.listed("/w3c/b")
	require.Equal(t, 3, total)
}

func contentQuotas(t *testing.T, open Open) {
	c := newLimited(t, open, modelrepo.Limits{ContentBytes: 600_000, NamespaceBytes: 1_000_000})
	c.withVersion()
	data := func(size int) string { return strings.Repeat("x", size) }
	const tooLarge = "The content is too large: the most is 600000 bytes. Nothing was stored."
	c.upload(version, "a", "a/b", data(600_001), "").fails(413, tooLarge)
	c.upload(version, "a", "a/b", data(600_000), "").has(200)
	full := func(held int) string {
		return fmt.Sprintf("Namespace 'w3c' can hold 1000000 bytes of content, and holds %d. The content does not "+
			"fit. Nothing was stored.", held)
	}
	c.upload(version, "b", "a/b", data(400_001), "").fails(507, full(600_000))
	c.upload(version, "b", "a/b", data(400_000), "").has(200)
	c.upload(version, "c", "a/b", "x", "").fails(507, full(1_000_000))
	c.upload(version, "c", "a/b", "", "").has(200)
	c.upload(version, "a", "a/b", data(600_001), "&overwrite=1").fails(413, tooLarge)
	c.upload(version, "a", "a/b", "y"+data(599_999), "&overwrite=1").has(200)
	c.upload(version, "b", "a/b", data(500_000), "&overwrite=1").fails(507, full(1_000_000))
	c.upload(version, "b", "a/b", data(10), "&overwrite=1").has(200)
	c.do("DELETE", version+"/content?format=a", "").has(200)
	c.upload(version, "d", "a/b", data(600_000), "").has(200)
	c.json("PATCH", version, `{"immutable":true}`).has(200)
	c.do("DELETE", version+"?force=1", "").has(200)
	c.do("POST", version, "").has(200)

	var uploads sync.WaitGroup
	var stored atomic.Int64
	for i := range 8 {
		uploads.Go(func() {
			_, err := c.store.Upload(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"},
				fmt.Sprint("f", i), strings.NewReader(data(300_000+i)), nil)
			if err == nil {
				stored.Add(1)
			} else {
				require.ErrorIs(t, err, modelrepo.ErrQuota)
			}
		})
	}
	uploads.Wait()
	require.LessOrEqual(t, stored.Load(), int64(3))
	for i := stored.Load(); i < 3; i++ { // refused while others were ending
		c.upload(version, fmt.Sprint("more", i), "a/b", data(300_000), "").has(200)
	}
	// Now it is full, and another namespace is another one.
	c.upload(version, "z", "a/b", data(200_000), "").has(507)
	c.do("POST", "/acme", "").has(200)
	c.do("POST", "/acme/m", "").has(200)
	c.do("POST", "/acme/m/1", "").has(200)
	c.upload("/acme/m/1", "z", "a/b", data(600_000), "").has(200)
}
