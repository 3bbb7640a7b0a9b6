package apimgmt_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/apimgmt/rest"
)

// What is published under any name and any version is found under them, over HTTP as
// well, and nothing else than a refusal happens to others.
func FuzzNames(f *testing.F) {
	f.Add("Weather station", "1.0.0-rc.1+build")
	f.Add("a_b-c.d", " ")
	f.Add("Größe", "..")
	f.Add("x", "1/2")
	f.Add("İ", "%2e%2E")
	f.Add(strings.Repeat("ab ", 33)+"c", strings.Repeat("9", 64))
	f.Fuzz(func(t *testing.T, name, version string) {
		s := newStage()
		p := s.open(t, nil)
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(apitest.File(version, "/x"))})
		if err != nil {
			require.True(t, errors.Is(err, apimgmt.ErrInvalid) || errors.Is(err, apimgmt.ErrTooLarge), err)
			return
		}
		record, err := p.Get(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, name, record.Enabler)
		config, err := s.gateway.Config(t.Context())
		require.NoError(t, err)
		require.Len(t, config.Routes, 1)
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodGet, "/OpenAPIDocumentation/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version), nil)
		req.Header.Set("Authorization", "Bearer caller")
		rest.NewHandler(p, &rest.HandlerOptions{Verifier: apitest.Tokens()}).ServeHTTP(w, req)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, p.Delete(t.Context(), name, "", apimgmt.Condition{}))
		config, err = s.gateway.Config(t.Context())
		require.NoError(t, err)
		require.Empty(t, config.Services)
	})
}
