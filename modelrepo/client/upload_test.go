package client_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

const (
	digestHeader = "X-Upload-Digest"
	etagHeader   = "ETag"
	newSentence  = "Inhalt im Format 'f' wurde hochgeladen. Checksum: keine; MD5-Prüfsumme: 0815"
)

// changed returns a client of a store behind a server that changes answers to
// uploads.
func changed(t *testing.T, change func(r *http.Request, h http.Header, body *[]byte)) (*modelrepo.Store, *client.Client) {
	t.Helper()
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	inner := rest.NewHandler(s, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		inner.ServeHTTP(recorder, r)
		body := recorder.Body.Bytes()
		change(r, recorder.Header(), &body)
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, nil)
	require.NoError(t, err)
	return s, c
}

// isUpload reports whether a request stores content.
func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/content") && r.Header.Get("Tus-Resumable") == ""
}

func md5Of(data string) string {
	sum := md5.Sum([]byte(data))
	return hex.EncodeToString(sum[:])
}

func TestClient_Upload_readsNoDigestOutOfASentence(t *testing.T) {
	for name, strip := range map[string][]string{
		"this server": nil, "one without the digest": {digestHeader}, "the original": {digestHeader, etagHeader},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
				if !isUpload(r) {
					return
				}
				*body = []byte(`{"message":"` + newSentence + `"}`)
				for _, field := range strip {
					h.Del(field)
				}
			})
			result, err := c.Upload(t.Context(), version, "f", strings.NewReader("content"), nil)
			require.NoError(t, err)
			require.Equal(t, md5Of("content"), result.MD5)
			file, err := s.Stat(t.Context(), version, "f")
			require.NoError(t, err)
			require.Equal(t, file, result.File)
		})
	}
}

func TestClient_Upload_reportsNoDigestThatTheServerDoesNotHave(t *testing.T) {
	for name, record := range map[string]string{
		"other content since":      `{"formats":{"f":{"md5":"aa","sha256":"bb"}}}`,
		"no SHA-256 in its record": `{"formats":{"f":{"md5":"aa"}}}`,
		"no record":                `{}`,
		"no JSON":                  `<html>`,
	} {
		t.Run(name, func(t *testing.T) {
			_, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
				h.Del(digestHeader)
				if r.Method == http.MethodGet {
					*body = []byte(record)
				}
			})
			result, err := c.Upload(t.Context(), version, "f", strings.NewReader("content"), nil)
			require.NoError(t, err)
			require.Empty(t, result.MD5)
			require.NotEmpty(t, result.SHA256)
		})
	}
}

func TestClient_Upload_checksARecordedMD5AgainstTheAnnouncedOne(t *testing.T) {
	for recorded, want := range map[string]string{md5Of("content"): md5Of("content"), md5Of("other"): ""} {
		_, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
			h.Del(digestHeader)
			h.Del(etagHeader)
			if r.Method == http.MethodGet {
				*body = []byte(`{"formats":{"f":{"md5":"` + recorded + `"}}}`)
			}
		})
		sum := md5.Sum([]byte("content"))
		options := &modelrepo.UploadOptions{Digests: modelrepo.Digests{MD5: sum[:]}}
		result, err := c.Upload(t.Context(), version, "f", strings.NewReader("content"), options)
		require.NoError(t, err)
		require.Equal(t, want, result.MD5)
	}
}

func TestClient_Upload_refusesDigestsOfOtherBytes(t *testing.T) {
	const of = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:" // of nothing
	for _, value := range []string{of, of + ", md5=:1B2M2Y8AsgTpgAmY7PhCfg==:"} {
		_, c := changed(t, func(_ *http.Request, h http.Header, _ *[]byte) { h.Set(digestHeader, value) })
		_, err := c.Upload(t.Context(), version, "f", strings.NewReader("content"), nil)
		require.ErrorIs(t, err, modelrepo.ErrDigest)
	}
	_, c := changed(t, func(_ *http.Request, h http.Header, _ *[]byte) {
		h.Set(digestHeader, "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:")
	})
	sum := md5.Sum([]byte("content"))
	options := &modelrepo.UploadOptions{Digests: modelrepo.Digests{MD5: sum[:]}}
	_, err := c.Upload(t.Context(), version, "f", strings.NewReader("content"), options)
	require.ErrorIs(t, err, modelrepo.ErrDigest, "it is not what was announced")
	_, c = changed(t, func(_ *http.Request, h http.Header, _ *[]byte) { h.Set(digestHeader, "md5") })
	_, err = c.Upload(t.Context(), version, "f", strings.NewReader("content"), nil)
	require.ErrorContains(t, err, digestHeader)
}

func TestUploads_Continue_readsNoDigestOutOfASentence(t *testing.T) {
	_, c := changed(t, func(_ *http.Request, h http.Header, _ *[]byte) {
		if h.Get("X-Upload-Message") != "" {
			h.Set("X-Upload-Message", newSentence)
		}
	})
	const data = "content"
	upload, err := c.Uploads().Begin(t.Context(), version, "f", int64(len(data)), nil)
	require.NoError(t, err)
	upload, err = c.Uploads().Continue(t.Context(), upload.ID, 0, strings.NewReader(data), modelrepo.Checksum{})
	require.NoError(t, err)
	require.NotNil(t, upload.Result)
	require.Equal(t, md5Of(data), upload.Result.MD5)
}

func TestClient_Upload_findsDigestsInAnswersOfTheHandler(t *testing.T) {
	s, _ := changed(t, nil)
	var form bytes.Buffer
	_, _ = io.WriteString(&form, "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\ncontent\r\n--b--\r\n")
	request := httptest.NewRequest(http.MethodPost, "/w3c/sosa/1.0/content?format=f", &form)
	request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	answer := httptest.NewRecorder()
	rest.NewHandler(s, nil).ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	digests, err := wire.ParseDigests("", answer.Header().Get(digestHeader))
	require.NoError(t, err)
	require.Equal(t, md5Of("content"), hex.EncodeToString(digests.MD5))
	require.Equal(t, answer.Header().Get(etagHeader), `"`+hex.EncodeToString(digests.SHA256)+`"`)
}

func TestClient_Upload_readsTheResultFromTheHeader(t *testing.T) {
	for name, strip := range map[string]bool{"this server": false, "an older one": true} {
		t.Run(name, func(t *testing.T) {
			_, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
				if isUpload(r) {
					*body = []byte(`{"message":"` + newSentence + `"}`)
				}
				if strip {
					h.Del(wire.Result)
				}
			})
			upload := func(format string) modelrepo.Uploaded {
				options := &modelrepo.UploadOptions{Overwrite: true}
				result, err := c.Upload(t.Context(), version, format, strings.NewReader("content"), options)
				require.NoError(t, err)
				return result
			}
			for _, step := range []struct {
				format                string
				overwrote, defaultSet bool
			}{{"f", false, true}, {"f", true, false}, {"g", false, false}} {
				result := upload(step.format)
				require.Equal(t, step.overwrote, result.Overwrote, "%+v", step)
				require.Equal(t, step.defaultSet, result.DefaultSet, "%+v", step)
			}
		})
	}
}

func TestClient_UpdateModel_readsTheResultFromTheHeader(t *testing.T) {
	for name, strip := range map[string]bool{"this server": false, "an older one": true} {
		t.Run(name, func(t *testing.T) {
			_, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
				if r.Method == http.MethodPatch {
					*body = []byte(`{"message":"` + newSentence + `"}`)
				}
				if strip {
					h.Del(wire.Result)
				}
			})
			for _, want := range []bool{true, false} {
				got, err := c.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{LatestVersion: "2.0"})
				require.NoError(t, err)
				require.Equal(t, want, got)
				got, err = c.UpdateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{Metadata: modelrepo.Metadata{"a": {"b"}}})
				require.NoError(t, err)
				require.Equal(t, want, got)
				got, err = c.UpdateVersion(t.Context(), version, modelrepo.VersionUpdate{DefaultFormat: "f"})
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			_, err := c.UpdateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "none"}, modelrepo.ModelUpdate{LatestVersion: "1"})
			require.ErrorIs(t, err, modelrepo.ErrNotFound)
		})
	}
}

func TestClient_UpdateModel_reportsAnUpdateThatCannotBeReadBack(t *testing.T) {
	written := false
	s, c := changed(t, func(r *http.Request, h http.Header, body *[]byte) {
		h.Del(wire.Result)
		written = written || r.Method == http.MethodPatch
		if written && r.Method == http.MethodGet {
			*body = []byte("{")
		}
	})
	got, err := c.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{LatestVersion: "2.0"})
	require.NoError(t, err)
	require.True(t, got)
	found, err := s.Model(t.Context(), model, nil)
	require.NoError(t, err)
	require.Equal(t, "2.0", found.LatestVersion)
}
