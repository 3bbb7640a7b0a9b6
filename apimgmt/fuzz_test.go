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
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(file(version, "/x"))})
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
		p.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens()}).ServeHTTP(w, req)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, p.Delete(t.Context(), name, "", apimgmt.Condition{}))
		config, err = s.gateway.Config(t.Context())
		require.NoError(t, err)
		require.Empty(t, config.Services)
	})
}

// No body and no header field of an upload does anything but be refused or published.
func FuzzUpload(f *testing.F) {
	const head = "--b\r\nContent-Disposition: form-data; name=\"upload_file\"; filename=\"f\"\r\n\r\n"
	f.Add("multipart/form-data; boundary=b", head+file("1", "/x")+"\r\n--b--\r\n", `"1"`)
	f.Add("multipart/form-data; boundary=b", head+"nonsense", "*")
	f.Add("multipart/form-data; boundary=b", "--b\r\n\r\n\r\n"+head+"\r\n--b--", "")
	f.Add("multipart/form-data", "", "W/\"1\"")
	f.Fuzz(func(t *testing.T, contentType, body, match string) {
		p := newStage().open(t, nil)
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/OpenAPIDocumentation/?enabler=a&description=", strings.NewReader(body))
		req.Header["Authorization"] = []string{"Bearer dev"}
		req.Header["Content-Type"] = []string{contentType}
		req.Header["If-Match"] = []string{match}
		p.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens()}).ServeHTTP(w, req)
		require.Contains(t, []int{200, 400, 404, 412, 413, 422}, w.Code, w.Body)
	})
}
