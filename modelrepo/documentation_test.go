package modelrepo_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// documented are the methods about documentation.
type documented interface {
	GenerateDocumentation(ctx context.Context, at modelrepo.Path, plugin string, files map[string][]byte,
		overwrite bool) (string, error)
	OpenPage(ctx context.Context, at modelrepo.Path, name string) (*modelrepo.Page, error)
	DeleteDocumentation(ctx context.Context, at modelrepo.Path) error
	DeleteVersion(ctx context.Context, at modelrepo.Path) error
}

var (
	_ documented = (*modelrepo.Store)(nil)
	_ documented = (*client.Client)(nil)
)

func page(t *testing.T, d documented, name string) string {
	t.Helper()
	p, err := d.OpenPage(t.Context(), crashVersion, name)
	require.NoError(t, err)
	data, err := io.ReadAll(p)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	return string(data)
}

func TestStore_GenerateDocumentation_makesPagesWithWorkingLinks(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	defer server.Close()
	client, err := client.New(server.URL, nil)
	require.NoError(t, err)
	for _, d := range []documented{s, client} {
		files := map[string][]byte{
			"README.md": []byte("# The model\n\nSee [the guide](guide/start.md#first) and ![a " +
				"picture](guide/a.png).\n\n<script>alert(1)</script>\n\n[bad](javascript:alert(1))\n"),
			"guide/start.markdown": []byte("Back to [the beginning](../README.md), [elsewhere](https://example.org/a.md).\n"),
			"guide/a.png":          []byte("\x89PNG"),
		}
		first, err := d.GenerateDocumentation(t.Context(), crashVersion, modelrepo.Markdown, files, false)
		require.NoError(t, err)
		index := page(t, d, "")
		require.Contains(t, index, "<title>The model – w3c/sosa/1.0</title>")
		require.Contains(t, index, `href="guide/start.html#first"`)
		require.Contains(t, index, `src="guide/a.png"`)
		require.NotContains(t, index, "<script")
		require.NotContains(t, index, "javascript:")
		require.Contains(t, index, `href="../../../../page.css"`)
		start := page(t, d, "guide/start.html")
		require.Contains(t, start, `href="../README.html"`)
		require.Contains(t, start, `href="https://example.org/a.md"`)
		require.Contains(t, start, `href="../../../../../page.css"`)
		require.Contains(t, start, `<a href="../guide/start.html" aria-current="page">`)
		require.Equal(t, "\x89PNG", page(t, d, "guide/a.png"))

		for _, name := range []string{"guide/", "README.md", "other.html", "../1.0"} {
			_, err := d.OpenPage(t.Context(), crashVersion, name)
			require.ErrorIs(t, err, modelrepo.ErrNotFound, name)
		}
		err = d.DeleteVersion(t.Context(), crashVersion)
		require.ErrorIs(t, err, modelrepo.ErrNotEmpty)
		require.ErrorContains(t, err, "Please delete the documentation first.")

		_, err = d.GenerateDocumentation(t.Context(), crashVersion, modelrepo.GFM, files, false)
		require.ErrorIs(t, err, modelrepo.ErrContentExists)
		second, err := d.GenerateDocumentation(t.Context(), crashVersion, modelrepo.GFM,
			map[string][]byte{"b.md": []byte("|a|\n|-:|\n|~~x~~|\n\n- [x] done\n")}, true)
		require.NoError(t, err)
		require.NotEqual(t, first, second)
		require.Contains(t, page(t, d, "index.html"), `<a href="b.html">b</a>`)
		b := page(t, d, "b.html")
		for _, want := range []string{`<td align="right"><del>x</del></td>`, `type="checkbox"`} {
			require.Contains(t, b, want)
		}
		_, err = s.Repair(t.Context())
		require.NoError(t, err)
		require.Len(t, keys(t, blobs, "page/"), 2, "what was replaced is gone, what is there stays")

		require.NoError(t, d.DeleteDocumentation(t.Context(), crashVersion))
		require.ErrorIs(t, d.DeleteDocumentation(t.Context(), crashVersion), modelrepo.ErrNotFound)
		require.Empty(t, keys(t, blobs, "page/"))
	}
	require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
	_, err = s.GenerateDocumentation(t.Context(), crashVersion, modelrepo.Markdown, map[string][]byte{"a.md": nil}, false)
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
}

func TestStore_GenerateDocumentation_refusesInvalidFiles(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	many := map[string][]byte{}
	for i := range 51 {
		many[fmt.Sprintf("%d.md", i)] = nil
	}
	big := bytes.Repeat([]byte("words \n\n"), 1<<20)
	for name, c := range map[string]struct {
		plugin string
		files  map[string][]byte
		want   error
	}{
		"rst":      {"rst", map[string][]byte{"a.rst": nil}, modelrepo.ErrInvalid},
		"nothing":  {"gfm", nil, modelrepo.ErrInvalid},
		"many":     {"gfm", many, modelrepo.ErrTooLarge},
		"big":      {"gfm", map[string][]byte{"a.md": big}, modelrepo.ErrTooLarge},
		"escape":   {"gfm", map[string][]byte{"../a.md": nil}, modelrepo.ErrInvalid},
		"absolute": {"gfm", map[string][]byte{"/a.md": nil}, modelrepo.ErrInvalid},
		"html":     {"gfm", map[string][]byte{"a.HTML": nil}, modelrepo.ErrInvalid},
		"twice":    {"gfm", map[string][]byte{"a.md": nil, "a.markdown": nil}, modelrepo.ErrInvalid},
		"quotes":   {"gfm", map[string][]byte{"a.md": bytes.Repeat([]byte(">"), 1<<20)}, modelrepo.ErrInvalid},
		"brackets": {"gfm", map[string][]byte{"a.md": bytes.Repeat([]byte("[a]("), 1<<18)}, modelrepo.ErrInvalid},
		"cells": {"gfm", map[string][]byte{"a.md": []byte(strings.Repeat("a|", 9999) + "\n" + strings.Repeat("-|",
			9999) + "\n" + strings.Repeat("a\n", 9999))}, modelrepo.ErrInvalid},
		"expands": {"gfm", map[string][]byte{"a.md": []byte("[a]: /" + strings.Repeat("x",
			1<<20) + "\n\n" + strings.Repeat("[a]\n\n", 100))}, modelrepo.ErrInvalid},
	} {
		_, err := s.GenerateDocumentation(t.Context(), crashVersion, c.plugin, c.files, false)
		require.ErrorIs(t, err, c.want, name)
	}
	require.Empty(t, keys(t, blobs, "page/"))
}

// entry is one entry of an archive.
type entry struct {
	name string
	kind byte
	data string
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Size: int64(len(e.data)), Mode: 0o600, ModTime: time.Unix(0, 0)}
		if e.kind != tar.TypeReg {
			h.Linkname = "/etc/passwd"
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func TestStore_GenerateDocumentation_readsArchives(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	send := func(fileName string, data []byte) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		disposition := `form-data; name="content"; filename="` + fileName + `"`
		part, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
		require.NoError(t, err)
		_, err = part.Write(data)
		require.NoError(t, err)
		require.NoError(t, form.Close())
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/w3c/sosa/1.0/doc_gen?plugin=gfm&overwrite=1",
			&body)
		request.Header.Set("Content-Type", form.FormDataContentType())
		answer := httptest.NewRecorder()
		rest.NewHandler(s, nil).ServeHTTP(answer, request)
		return answer
	}
	for name, c := range map[string]struct {
		data   []byte
		status int
	}{
		"good": {archive(t, entry{"./", tar.TypeDir, ""}, entry{"./a.md", tar.TypeReg, "# A"},
			entry{"./._a.md", tar.TypeReg, "x"}), 200},
		"escape":  {archive(t, entry{"../a.md", tar.TypeReg, "# A"}), 400},
		"escape2": {archive(t, entry{"a/../../a.md", tar.TypeReg, "# A"}), 400},
		"link":    {archive(t, entry{"a.md", tar.TypeSymlink, ""}), 400},
		"device":  {archive(t, entry{"a.md", tar.TypeChar, ""}), 400},
		"twice":   {archive(t, entry{"a.md", tar.TypeReg, "# A"}, entry{"a.md", tar.TypeReg, "# B"}), 400},
		"bomb":    {archive(t, entry{"a.md", tar.TypeReg, strings.Repeat("\n", 64<<20)}), 413},
		"broken":  {archive(t, entry{"a.md", tar.TypeReg, "# A"})[:60], 400},
		"no tar":  {[]byte("hello"), 400},
	} {
		require.Equal(t, c.status, send("docs.tar.gz", c.data).Code, name)
	}
	require.Equal(t, http.StatusOK, send("sub/b.md", []byte("# B")).Code)
	require.Contains(t, page(t, s, "sub/b.html"), "B</h1>")
	require.Equal(t, http.StatusRequestEntityTooLarge, send("big.md", make([]byte, 8<<20)).Code)

	for path, want := range map[string][2]string{
		"/w3c/sosa/1.0/doc":            {"307", "doc/"},
		"/w3c/sosa/1.0/doc/":           {"200", "text/html; charset=utf-8"},
		"/w3c/sosa/1.0/doc/sub/b.html": {"200", "text/html; charset=utf-8"},
		"/w3c/sosa/1.0/doc/none.html":  {"404", "application/json"},
		"/page.css":                    {"200", "text/css; charset=utf-8"},
	} {
		answer := httptest.NewRecorder()
		rest.NewHandler(s, nil).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		h := answer.Header()
		require.Equal(t, want, [2]string{fmt.Sprint(answer.Code), h.Get("Location") + h.Get("Content-Type")}, path)
		if answer.Code == http.StatusOK && path != "/page.css" {
			require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; img-src 'self'; style-src 'self'")
			require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		}
	}
}

func TestStore_GenerateDocumentation_leavesNothingAfterACrash(t *testing.T) {
	for _, applyLast := range []bool{false, true} {
		for crashAt := int64(1); ; crashAt++ {
			documents, blobs := openMemory(t)
			s := newWithoutGrace(t, documents, blobs)
			prepare(t, s)
			_, err := s.GenerateDocumentation(t.Context(), crashVersion, modelrepo.Markdown,
				map[string][]byte{"a.md": []byte("old")}, false)
			require.NoError(t, err)
			crashed := &crasher{crashAt: crashAt, applyLast: applyLast}
			_, err = newWithoutGrace(t, crashingDocuments{crashed, documents}, crashingBlobs{crashed, blobs}).
				GenerateDocumentation(t.Context(), crashVersion, modelrepo.Markdown, map[string][]byte{"a.md": []byte("new")},
					true)
			text := page(t, s, "a.html")
			if err == nil {
				require.Contains(t, text, "<p>new</p>")
			}
			require.True(t, strings.Contains(text, "<p>old</p>") || strings.Contains(text, "<p>new</p>"))
			_, err = s.Repair(t.Context())
			require.NoError(t, err)
			_, err = s.Repair(t.Context())
			require.NoError(t, err)
			require.Len(t, keys(t, blobs, "page/"), 2, "crashed at operation %d (%v)", crashAt, applyLast)
			require.Equal(t, text, page(t, s, "a.html"))
			if crashed.count.Load() < crashAt {
				require.Greater(t, crashAt, int64(6))
				break
			}
		}
	}
}
