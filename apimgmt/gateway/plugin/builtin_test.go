package plugin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func builtinSubjects() []plugintest.Subject {
	return []plugintest.Subject{
		{
			Kind: plugin.CORS(),
			Valid: []string{`{}`, `{"origins":["https://app.example"],"credentials":true,"max_age":5}`,
				`{"origins":["(.*[.])?app[.]example"],"methods":null}`},
			Invalid: map[string]string{
				`{"origins":["("]}`: "config.origins", `{"methods":["GOT"]}`: "config.methods",
				`{"max_age":-1}`: "config.max_age", `{"credentials":"x"}`: "config.credentials",
			},
		},
		{
			Kind:    plugin.RequestSizeLimiting(),
			Valid:   []string{`{}`, `{"allowed_payload_size":1,"size_unit":"bytes"}`},
			Invalid: map[string]string{`{"allowed_payload_size":-1}`: "config.allowed_payload_size", `{"size_unit":"bits"}`: "config.size_unit"},
		},
		{
			Kind:  plugin.RequestTermination(),
			Valid: []string{`{}`, `{"status_code":403,"message":"closed"}`, `{"body":"<p>closed","content_type":"text/html"}`},
			Invalid: map[string]string{
				`{"status_code":99}`: "config.status_code", `{"message":"a","body":"b"}`: "config.message",
				`{"content_type":"text/html"}`: "config.content_type",
			},
		},
	}
}

func stage(t *testing.T, name, config string) *plugintest.Stage {
	return plugintest.NewStage(t, plugintest.Options{
		Kinds: plugin.Kinds(), Plugins: []entity.Plugin{{Name: name, Config: []byte(config)}},
	})
}

func TestCORS_answersPreflights(t *testing.T) {
	s := stage(t, "cors",
		`{"origins":["https://app.example","https?://.*[.]dev[.]example(:[0-9]+)?"],"credentials":true,"headers":["X-A"],"max_age":60}`)
	for from, want := range map[string]string{
		"https://app.example": "https://app.example", "https://app.example:443": "https://app.example",
		"http://x.dev.example:8080": "http://x.dev.example:8080", "https://evil.example": "", "https://app.example.evil.example": "",
	} {
		a := s.Do(http.MethodOptions, "/", "", "Origin: "+from, "Access-Control-Request-Method: PUT")
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, want, a.Header.Get("Access-Control-Allow-Origin"), from)
		require.Equal(t, want != "", a.Header.Get("Access-Control-Allow-Credentials") == "true", from)
		require.Equal(t, []string{"Origin"}, a.Header["Vary"])
		require.Equal(t, "X-A", a.Header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "60", a.Header.Get("Access-Control-Max-Age"))

		a = s.Do(http.MethodPost, "/", "hello", "Origin: "+from)
		require.Equal(t, "hello", a.Body)
		require.Equal(t, want, a.Header.Get("Access-Control-Allow-Origin"), from)
	}
}

func TestCORS_appliesToRefusals(t *testing.T) {
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(),
		Plugins: []entity.Plugin{{Name: "cors"}, {Name: "request-termination"}}})
	a := s.Do(http.MethodGet, "/", "", "Origin: https://app.example")
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
}

func TestSize_refusesLongRequests(t *testing.T) {
	s := stage(t, "request-size-limiting", `{"allowed_payload_size":2,"size_unit":"kilobytes"}`)
	require.Len(t, s.Do(http.MethodPost, "/", strings.Repeat("x", 2048)).Body, 2048)
	a := s.Do(http.MethodPost, "/", strings.Repeat("x", 2049))
	require.Equal(t, http.StatusRequestEntityTooLarge, a.Status)
	require.JSONEq(t, `{"message":"Request size limit exceeded"}`, a.Body)
}

func TestSize_cutsBodiesOfUnknownLength(t *testing.T) {
	s := stage(t, "request-size-limiting", `{"allowed_payload_size":2,"size_unit":"kilobytes"}`)
	send := func(n int) int {
		body := io.MultiReader(strings.NewReader(strings.Repeat("x", n))) // of unknown length
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer func() { _ = response.Body.Close() }()
		got, err := io.ReadAll(response.Body)
		if err != nil || len(got) < n {
			return 0
		}
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, send(2048))
	require.NotEqual(t, http.StatusOK, send(1<<20))
	s = stage(t, "request-size-limiting", `{"require_content_length":true}`)
	require.NotEqual(t, http.StatusOK, send(1))
}

func TestTermination_waitsForItsTrigger(t *testing.T) {
	s := stage(t, "request-termination", `{"status_code":410,"body":"gone","content_type":"text/plain","trigger":"X-Stop"}`)
	require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/", "").Status)
	for _, a := range []plugintest.Answer{s.Do(http.MethodGet, "/", "", "X-Stop: 1"), s.Do(http.MethodGet, "/?X-Stop", "")} {
		require.Equal(t, http.StatusGone, a.Status)
		require.Equal(t, "gone", a.Body)
		require.Equal(t, "text/plain", a.Header.Get("Content-Type"))
	}
}
