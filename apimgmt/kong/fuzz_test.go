package kong_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/kong"
)

// Paths that Kong 2 gives back are written again as they were, and match what they
// matched.
func FuzzPathsComeBackFromKong2AsTheyWere(f *testing.F) {
	for _, path := range []string{"/plain", "~/things/(?<id>[^#?/]+)$", "/a+b", "~/a.b", `~/a\+`, `~/a\.b`, "~/(?:)", "/%41", `~/\Qa\E`} {
		f.Add(path, "/a+b")
	}
	f.Fuzz(func(t *testing.T, path, request string) {
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~/") {
			t.Skip("no path of a route")
		}
		old := kong.OldPath(path)
		again := kong.NewPath(old)
		require.Equal(t, old, kong.OldPath(again))
		want, ok := matcher(path)
		if !ok {
			t.Skip("not an expression of Go")
		}
		got, ok := matcher(again)
		require.True(t, ok, "%q has become %q", path, again)
		require.Equal(t, want(request), got(request), "%q has become %q", path, again)
	})
}

// matcher is what a path of Kong 3 matches.
func matcher(path string) (func(string) bool, bool) {
	expression, isExpression := strings.CutPrefix(path, "~")
	if !isExpression {
		return func(request string) bool { return strings.HasPrefix(request, path) }, true
	}
	compiled, err := regexp.Compile("^(?:" + expression + ")")
	if err != nil {
		return nil, false
	}
	return compiled.MatchString, true
}

// one answers every call alike.
type one string

func (o one) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(o)))}, nil
}

func FuzzAnyAnswerIsReadOrRefused(f *testing.F) {
	f.Add(`{"version":"3.4.1","data":[{"id":"7b1a1a3e-0000-4000-8000-000000000001","name":"s","host":"h",` +
		`"paths":["/a"],"config":{},"tags":["t"]}]}`)
	f.Add(`{"version":"2.8","offset":"x","data":[{}]}`)
	f.Add(`{"version":"3.1","data":[{"id":"x","upstream":{"id":1},"healthchecks":[],"created_at":1.5}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := kong.New(kong.Config{URL: "http://kong.example", HTTPClient: &http.Client{Transport: one(text)}, Attempts: 1})
		require.NoError(t, err)
		config, err := g.Config(t.Context())
		if err != nil {
			return
		}
		_, err = config.Normalize()
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(text)))
	})
}
