package definition_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// seenByService is the path that a service sees of a request to a route, by the rules of
// Kong: the expression matches, nothing is stripped, and the request-transformer that
// counts replaces the path by its template.
func seenByService(t *testing.T, c entity.Config, r entity.Route, path string) string {
	t.Helper()
	expression := regexp.MustCompile("^(?:" + strings.TrimPrefix(r.Paths[0], "~") + ")")
	found := expression.FindStringSubmatch(path)
	require.NotNil(t, found, "%s does not match %s", r.Paths[0], path)
	require.Equal(t, path, found[0])
	require.False(t, *r.StripPath)
	var config struct {
		Replace struct {
			URI string `json:"uri"`
		} `json:"replace"`
	}
	require.NoError(t, json.Unmarshal([]byte(effective(c, r)["request-transformer"]), &config))
	return regexp.MustCompile(`\$\(uri_captures\['([^']*)'\]\)`).ReplaceAllStringFunc(config.Replace.URI, func(template string) string {
		return found[expression.SubexpIndex(template[len("$(uri_captures['"):len(template)-len("'])")])]
	})
}

func TestOptions_Path_isStrippedBeforeForwarding(t *testing.T) {
	text := strings.Replace(layered, "  /plain:\n", `  /transformed/{x}:
    x-kong-plugin-request-transformer: {config: {add: {headers: ['X-A:1']}, replace: {headers: ['X-B:2']}}}
    get: {parameters: [{name: x, in: path, required: true, schema: {type: string}}], responses: {'200': {description: x}}}
  /replaced:
    get: {x-kong-plugin-request-transformer: {config: {replace: {uri: /fixed}}}, responses: {'200': {description: x}}}
  /disabled:
    get: {x-kong-plugin-request-transformer: {enabled: false}, responses: {'200': {description: x}}}
  /plain:
`, 1)
	c := convert(t, text, definition.Options{Name: "x", Plugins: []string{"oidc", "cors", "request-transformer"}, Path: "/teams/we.ather"})
	for name, want := range map[string][2]string{ // what is asked for, and what the service sees
		"x_plain_get":         {"/teams/we.ather/plain", "/base/plain"},
		"x_own_get":           {"/teams/we.ather/own", "/own"},
		"x_own_post":          {"/teams/we.ather/own", "/x/own"},
		"x_retries_put":       {"/teams/we.ather/retries/1.2/3", "/base/retries/1.2/3"},
		"x_transformed-x_get": {"/teams/we.ather/transformed/y", "/base/transformed/y"},
		"x_replaced_get":      {"/teams/we.ather/replaced", "/fixed"},
		"x_disabled_get":      {"/teams/we.ather/disabled", "/base/disabled"},
	} {
		require.Equal(t, want[1], seenByService(t, c, routeNamed(t, c, name), want[0]), name)
	}
	require.JSONEq(t,
		`{"add":{"headers":["X-A:1"]},"replace":{"headers":["X-B:2"],"uri":"/base$(uri_captures['the_path_after_the_listen_prefix'])"}}`,
		effective(c, routeNamed(t, c, "x_transformed-x_get"))["request-transformer"])
	for _, r := range c.Routes { // PCRE takes names of 32 characters
		for _, name := range regexp.MustCompile(`\?<([^>]+)>`).FindAllStringSubmatch(r.Paths[0], -1) {
			require.LessOrEqual(t, len(name[1]), 32)
		}
		require.NotContains(t, strings.TrimPrefix(r.Paths[0], `~/teams/we\.ather(?<the_path_after_the_listen_prefix>/`), "we")
	}
}

func TestOptions_Path_changesNothingElse(t *testing.T) {
	kinds := []string{"oidc", "cors", "key-auth", "request-transformer", "request-validator", "rate-limiting"}
	compared := 0
	for seed := range uint64(200) {
		data, err := json.Marshal(newAuthor(seed).file())
		require.NoError(t, err)
		plain, err := definition.Convert(load(t, string(data)), definition.Options{Plugins: kinds, Server: "http://relative.example/r"})
		if err != nil {
			continue
		}
		below := convert(t, string(data), definition.Options{Plugins: kinds, Server: "http://relative.example/r", Path: "/p"})
		require.Equal(t, plain.Services, below.Services)
		require.Equal(t, plain.Targets, below.Targets)
		require.Len(t, below.Routes, len(plain.Routes))
		for i, r := range plain.Routes {
			there := below.Routes[i]
			plugins := effective(below, there)
			delete(plugins, "request-transformer")
			require.Equal(t, effective(plain, r), plugins)
			path := regexp.MustCompile(`\(\?<[^>]+>\[[^]]*\]\+\)`).ReplaceAllString(
				strings.TrimSuffix(strings.TrimPrefix(r.Paths[0], "~"), "$"), "v")
			path = strings.ReplaceAll(path, `\`, "")
			require.Equal(t, strings.TrimRight(findService(t, plain, r).Path, "/")+path, seenByService(t, below, there, "/p"+path))
			plainPath, before, _ := entity.CutRest(there.Paths[0])
			require.Equal(t, "~/p", before)
			require.Equal(t, "~/p"+strings.TrimPrefix(r.Paths[0], "~"), plainPath)
			there.Paths = r.Paths
			require.Equal(t, r, there)
			compared++
		}
	}
	require.Greater(t, compared, 500)
}

func TestOptions_Path_refusesWhatItCannotStrip(t *testing.T) {
	kinds := []string{"oidc", "cors", "request-transformer"}
	for name, tc := range map[string]struct {
		text    string
		kinds   []string
		message string
	}{
		"no plugin":       {things, []string{"oidc", "cors"}, `the gateway has no plugin "request-transformer"`},
		"some protocols":  {things + "x-kong-plugin-request-transformer: {protocols: [https]}\n", kinds, "protocols"},
		"stripped wholly": {things + "x-kong-route-defaults: {strip_path: true}\n", kinds, "strip_path"},
		"a template":      {things + "x-kong-service-defaults: {path: '/a$(b)'}\n", kinds, "template"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := definition.Convert(load(t, tc.text), definition.Options{Plugins: tc.kinds, Path: "/x"})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.message)
		})
	}
}

func TestCheckPath_takesFixedPrefixesOnly(t *testing.T) {
	for _, path := range []string{"/a", "/a-1/b_2/c.3/~d", "/..a", "/" + strings.Repeat("x", 199)} {
		require.NoError(t, definition.CheckPath(path))
	}
	for path, message := range map[string]string{
		"": "should start", "a": "should start", "/": "should not end", "/a/": "should not end", "/a//b": "empty segment", "//a": "empty segment",
		"/a/../b": `the segment ".."`, "/.": `the segment "."`, "/{id}": "template", "/a*": "template", "/a%62": "template", "/ä": "template",
		"/a b": "template", "/a?b": "template", "~/a": "should start", "/" + strings.Repeat("x", 200): "201 characters",
	} {
		require.ErrorContains(t, definition.CheckPath(path), message, path)
	}
}
