package entity_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/position"
)

const nested = `
_format_version: "2.1"
_transform: true
services:
- name: things
  url: https://things.example/base
  routes:
  - name: one
    methods: [GET]
    paths: ["/things/(?<id>[^/]+)$", "/plain-path_1.0"]
    plugins:
    - name: cors
      config: {origins: ["*"]}
  - paths: [/nameless]
    plugins:
    - name: key-auth
  plugins:
  - name: rate-limiting
    config: &limit {minute: 5}
consumers:
- username: ada
  keyauth_credentials:
  - key: open sesame
  plugins:
  - name: rate-limiting
    config: *limit
upstreams:
- name: pool
  targets:
  - target: 10.0.0.1:80
    weight: 0
plugins:
- name: correlation-id
`

func TestRead_readsNestedAndFlatAlike(t *testing.T) {
	a, err := entity.Read([]byte(nested), entity.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"~/things/(?<id>[^/]+)$", "/plain-path_1.0"}, a.Routes[1].Paths)
	require.Equal(t, 0, *a.Targets[0].Weight)
	require.Len(t, a.Plugins, 5)

	b, err := entity.Read([]byte(`{"_format_version":"3.0",
"routes":[{"name":"one","service":"things","methods":["GET"],"paths":["~/things/(?<id>[^/]+)$","/plain-path_1.0"]},
 {"service":{"name":"things"},"paths":["/nameless"],"plugins":[{"name":"key-auth"}]}],
"plugins":[{"name":"cors","route":"one","config":{"origins":["*"]}},{"name":"rate-limiting","service":"things","config":{"minute":5}},
 {"name":"rate-limiting","consumer":"ada","config":{"minute":5}},{"name":"correlation-id","service":null}],
"consumers":[{"username":"ada"}],"keyauth_credentials":[{"key":"open sesame","consumer":"ada"}],
"targets":[{"target":"10.0.0.1:80","weight":0,"upstream":"pool"}],"upstreams":[{"name":"pool"}],
"services":[{"name":"things","protocol":"https","host":"things.example","path":"/base"}]}`), entity.Limits{})
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestRead_readsWhatWasWritten(t *testing.T) {
	c, err := entity.Read([]byte(nested), entity.Limits{})
	require.NoError(t, err)
	var yaml, again, json bytes.Buffer
	require.NoError(t, c.WriteYAML(&yaml))
	require.NoError(t, c.WriteJSON(&json))
	for _, text := range []string{yaml.String(), json.String()} {
		back, err := entity.Read([]byte(text), entity.Limits{})
		require.NoError(t, err, text)
		require.Equal(t, c, back, text)
	}
	require.NoError(t, c.WriteYAML(&again))
	require.Equal(t, yaml.String(), again.String())
	require.Contains(t, yaml.String(), "\n    routes:\n")
}

func TestRead_namesThePlaceOfAnError(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no version": {"services: []", `the field "_format_version" is required`},
		"version":    {"_format_version: '4.0'", `line 1, "/_format_version": the version "4.0" is not one of`},
		"section":    {"_format_version: '3.0'\ncertificates:\n- id: 1\n", `line 2, "/certificates": there is no such field`},
		"field":      {"_format_version: '3.0'\nservices:\n- name: a\n  hosst: b\n", `line 4, "/services/0/hosst": there is no such field`},
		"type": {"_format_version: '3.0'\nservices:\n- port: '80'\n",
			`line 3, "/services/0/port": an integer is needed, this is a string`},
		"nested field": {"_format_version: '3.0'\nservices:\n- routes:\n  - paths: [/a]\n    colour: red\n",
			`line 5, "/services/0/routes/0/colour": there is no such field`},
		"two parents": {"_format_version: '3.0'\nservices:\n- name: a\n  host: b\n  routes:\n  - service: c\n",
			`line 6, "/services/0/routes/0/service": a route within a service does not name one`},
		"url": {"_format_version: '3.0'\nservices:\n- url: nothing\n",
			`line 3, "/services/0/url": check service "": url: has no protocol or no host`},
		"key twice": {"_format_version: '3.0'\nservices:\n- name: a\n  name: b\n",
			`line 4, "/services/0/name": the key stands here a second time, after line 3`},
		"JSON twice": {"{\"_format_version\":\"3.0\",\n\"routes\":[],\"routes\":[]}", `line 2, "/routes": the key stands here a second time`},
		"JSON field": {"{\"_format_version\":\"3.0\",\n\"routes\":[\n{\"paths\":[\"/a\"],\n \"colour\":1}]}",
			`line 4, "/routes/0/colour": there is no such field`},
		"no YAML":       {"a: [", `line 1: did not find expected node content`},
		"two documents": {"_format_version: '3.0'\n---\n{}\n", `there is a second document`},
		"empty":         {"", `the document is empty`},
		"list":          {"[]", `an object is needed, this is an array`},
		"tag":           {"_format_version: '3.0'\nservices: !!binary aGk=\n", `the tag "!!binary" is not allowed`},
		"not UTF-8":     {"_format_version: \xff", `line 1: the text is not UTF-8`},
		"integer":       {"_format_version: '3.0'\nservices:\n- port: 80.5\n", `80.5 is not an integer`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := entity.Read([]byte(tc.text), entity.Limits{})
			require.ErrorIs(t, err, entity.ErrDeclaration)
			require.ErrorContains(t, err, tc.want)
			var at *position.Error
			require.ErrorAs(t, err, &at)
		})
	}
}

func TestRead_isBounded(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("_format_version: '3.0'\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, tc := range map[string]struct{ text, want string }{
		"aliases":   {laughs.String(), "more than 500000 values"},
		"itself":    {"_format_version: '3.0'\na: &a [*a]\n", "nested deeper"},
		"deep JSON": {strings.Repeat("[", 200_000), "nested deeper"},
		"deep YAML": {strings.Repeat("- ", 5_000), "nested deeper"},
		"wide":      {"[" + strings.Repeat("0,", 3_000_000) + "0]", "may have 3000001 values"},
		"large":     {strings.Repeat("#", 9<<20), "9437184 bytes, more than 8388608"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := entity.Read([]byte(tc.text), entity.Limits{})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, entity.ErrDeclaration)
			require.ErrorIs(t, err, entity.ErrLimit)
			require.ErrorContains(t, err, tc.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(400<<20))
		})
	}
}

func TestDecode_changesOnlyNamedFields(t *testing.T) {
	five := 5
	s := entity.Service{Name: "things", Host: "a", Retries: &five}
	require.NoError(t, entity.Decode([]byte(`{"retries":3,"tags":["x"],"path":null}`), &s))
	require.Equal(t, 5, five)
	require.Equal(t, 3, *s.Retries)
	require.Equal(t, "a", s.Host)
	require.NoError(t, entity.Decode([]byte(`{"url":"https://b/c"}`), &s))
	require.Equal(t, "b", s.Host)
	require.ErrorContains(t, entity.Decode([]byte("{\n\"hots\":1}"), &s), `line 2, "/hots": there is no such field`)
	require.Error(t, entity.Decode([]byte(`{}`), s))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(nested))
	f.Add([]byte(`{"_format_version":"3.0","routes":[{"name":"a","paths":["~/a"],"headers":{"x":["1"]}}]}`))
	f.Add([]byte("_format_version: '3.0'\n_info: {select_tags: [a]}\nservices: [{<<: &x {host: a}, name: b}, *x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := entity.Read(data, entity.Limits{Bytes: 1 << 16, Values: 5000})
		if err != nil {
			return
		}
		var text bytes.Buffer
		require.NoError(t, c.WriteYAML(&text))
		back, err := entity.Read(text.Bytes(), entity.Limits{Bytes: 1 << 24})
		require.NoError(t, err, text.String())
		require.Equal(t, c, back)
		_ = c.Redacted()
	})
}
