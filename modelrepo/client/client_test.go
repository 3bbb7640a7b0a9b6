package client_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// served returns a store and a client of it.
func served(t *testing.T) (*modelrepo.Store, *client.Client) {
	t.Helper()
	documents, blobs := openDisk(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/", nil)
	require.NoError(t, err)
	return s, c
}

// withVersion creates one version through the client.
func withVersion(t *testing.T, c *client.Client) {
	t.Helper()
	require.NoError(t, c.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, c.CreateModel(t.Context(), model, modelrepo.ModelUpdate{LatestVersion: "1.0"}))
	require.NoError(t, c.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
}

func TestClient_returnsWhatTheStoreReturns(t *testing.T) {
	s, c := served(t)
	ctx := t.Context()
	withVersion(t, c)
	for _, listing := range []*modelrepo.Listing{nil, {}, {Page: 1, PageSize: 7}} {
		local, err := s.Namespaces(ctx, listing)
		require.NoError(t, err)
		remote, err := c.Namespaces(ctx, listing)
		require.NoError(t, err)
		require.Equal(t, local, remote)

		localNamespace, err := s.Namespace(ctx, "w3c", listing)
		require.NoError(t, err)
		remoteNamespace, err := c.Namespace(ctx, "w3c", listing)
		require.NoError(t, err)
		require.Equal(t, localNamespace, remoteNamespace)

		localModel, err := s.Model(ctx, model, listing)
		require.NoError(t, err)
		remoteModel, err := c.Model(ctx, model, listing)
		require.NoError(t, err)
		require.Equal(t, localModel, remoteModel)
	}
	changed, err := c.UpdateVersion(ctx, version, modelrepo.VersionUpdate{DefaultFormat: "f"})
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = c.UpdateVersion(ctx, version, modelrepo.VersionUpdate{DefaultFormat: "f"})
	require.NoError(t, err)
	require.False(t, changed)
	changed, err = c.UpdateModel(ctx, model, modelrepo.ModelUpdate{})
	require.NoError(t, err)
	require.False(t, changed)

	data := bytes.Repeat([]byte("0123456789"), 100_000)
	sum := sha256.Sum256(data)
	options := &modelrepo.UploadOptions{ContentType: "a/b", Digests: modelrepo.Digests{SHA256: sum[:]}}
	remote, err := c.Upload(ctx, version, "f", bytes.NewReader(data), options)
	require.NoError(t, err)
	file, err := s.Stat(ctx, version, "f")
	require.NoError(t, err)
	require.Equal(t, modelrepo.Uploaded{File: file}, remote)

	localVersion, err := s.Version(ctx, version)
	require.NoError(t, err)
	remoteVersion, err := c.Version(ctx, modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: modelrepo.Latest})
	require.NoError(t, err)
	require.Equal(t, localVersion, remoteVersion)

	require.NoError(t, c.DeleteContent(ctx, version, "f", modelrepo.Condition{Match: []string{file.ETag()}}))
	require.NoError(t, c.DeleteVersion(ctx, version))
	require.NoError(t, c.DeleteModel(ctx, model))
	require.NoError(t, c.DeleteNamespace(ctx, "w3c"))
}

func TestClient_returnsTheSentinelOfARefusal(t *testing.T) {
	_, c := served(t)
	ctx := t.Context()
	withVersion(t, c)
	upload := func(format string, options modelrepo.UploadOptions) error {
		_, err := c.Upload(ctx, version, format, strings.NewReader("x"), &options)
		return err
	}
	require.NoError(t, upload("f", modelrepo.UploadOptions{}))
	_, statErr := c.Stat(ctx, version, "missing")
	_, openErr := c.Open(ctx, version, "missing")
	_, dots := c.Namespace(ctx, "..", nil)
	_, service := c.Namespace(ctx, "v", nil)
	_, page := c.Namespaces(ctx, &modelrepo.Listing{PageSize: 51})
	for _, one := range []struct{ err, want error }{
		{c.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}), modelrepo.ErrExists},
		{c.CreateNamespace(ctx, "a/b", modelrepo.NamespaceUpdate{}), modelrepo.ErrInvalid},
		{c.CreateNamespace(ctx, "metrics", modelrepo.NamespaceUpdate{}), modelrepo.ErrInvalid},
		{c.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "a/b"}, modelrepo.ModelUpdate{}), modelrepo.ErrInvalid},
		{c.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: ".."}, modelrepo.ModelUpdate{}), modelrepo.ErrInvalid},
		{c.DeleteNamespace(ctx, "w3c"), modelrepo.ErrNotEmpty},
		{c.DeleteVersion(ctx, version), modelrepo.ErrNotEmpty},
		{upload("f", modelrepo.UploadOptions{}), modelrepo.ErrContentExists},
		{upload("f", modelrepo.UploadOptions{Condition: modelrepo.Condition{NoneMatch: []string{"*"}}}),
			modelrepo.ErrPrecondition},
		{upload("g", modelrepo.UploadOptions{Digests: modelrepo.Digests{MD5: make([]byte, 16)}}), modelrepo.ErrDigest},
		{upload("g", modelrepo.UploadOptions{Digests: modelrepo.Digests{SHA512: make([]byte, 64)}}), modelrepo.ErrDigest},
		{upload("-", modelrepo.UploadOptions{}), modelrepo.ErrInvalid},
		{statErr, modelrepo.ErrNotFound}, {openErr, modelrepo.ErrNotFound}, {dots, modelrepo.ErrNotFound}, {service,
			modelrepo.ErrNotFound},
		{page, modelrepo.ErrInvalid},
	} {
		require.ErrorIs(t, one.err, one.want)
		var refusal *modelrepo.Error
		require.ErrorAs(t, one.err, &refusal)
		require.NotEmpty(t, refusal.Text)
	}
}

func TestClient_Scrub_requestsOne(t *testing.T) {
	s, c := served(t)
	state, err := c.Scrub(t.Context())
	require.NoError(t, err)
	require.True(t, state.Requested)
	local, err := s.Integrity(t.Context())
	require.NoError(t, err)
	remote, err := c.Integrity(t.Context())
	require.NoError(t, err)
	require.Equal(t, local, remote)
	require.Equal(t, state, remote.Scrub)
}

func TestClient_Upload_leavesNothingWhenTheSourceFails(t *testing.T) {
	s, c := served(t)
	withVersion(t, c)
	broken := func() io.Reader {
		return io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(errors.New("the disk is on fire")))
	}
	for _, upload := range []func() (modelrepo.Uploaded, error){
		func() (modelrepo.Uploaded, error) { return c.Upload(t.Context(), version, "f", broken(), nil) },
		func() (modelrepo.Uploaded, error) { return s.Upload(t.Context(), version, "f", broken(), nil) },
	} {
		_, err := upload()
		require.ErrorIs(t, err, modelrepo.ErrIncomplete)
		require.ErrorContains(t, err, "the disk is on fire")
		version, err := s.Version(t.Context(), version)
		require.NoError(t, err)
		require.Empty(t, version.Formats)
	}
	require.NoError(t, s.DeleteVersion(t.Context(), version))
}

func TestClient_Open_seeks(t *testing.T) {
	s, c := served(t)
	withVersion(t, c)
	size := 3 << 20
	if testing.Short() {
		size = 300 << 10
	}
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	_, err := s.Upload(t.Context(), version, "f", bytes.NewReader(data), nil)
	require.NoError(t, err)
	for _, open := range []func() (*modelrepo.Content, error){
		func() (*modelrepo.Content, error) { return s.Open(t.Context(), version, "f") },
		func() (*modelrepo.Content, error) { return c.Open(t.Context(), version, "f") },
	} {
		content, err := open()
		require.NoError(t, err)
		require.Equal(t, int64(len(data)), content.Size)
		require.NoError(t, iotest.TestReader(content, data))
		_, err = content.Seek(-5, io.SeekEnd)
		require.NoError(t, err)
		tail, err := io.ReadAll(content)
		require.NoError(t, err)
		require.Equal(t, data[len(data)-5:], tail)
		_, err = content.Seek(-1, io.SeekStart)
		require.Error(t, err)
		require.NoError(t, content.Close())
		require.NoError(t, content.Close())
		_, err = content.Read(make([]byte, 1))
		require.Error(t, err)
	}
}

func TestClient_Open_failsWhenContentChangesBetweenReads(t *testing.T) {
	s, c := served(t)
	withVersion(t, c)
	upload := func(data string) {
		_, err := s.Upload(t.Context(), version, "f", strings.NewReader(data), &modelrepo.UploadOptions{Overwrite: true})
		require.NoError(t, err)
	}
	upload("first content")
	content, err := c.Open(t.Context(), version, "f")
	require.NoError(t, err)
	upload("other content")
	_, err = content.Seek(6, io.SeekStart)
	require.NoError(t, err)
	_, err = content.Read(make([]byte, 7))
	require.ErrorIs(t, err, modelrepo.ErrPrecondition)
	require.NoError(t, content.Close())
}

func TestNew_refusesABaseThatIsNotAURL(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8081", "ftp://host", "http://", "http://user:secret@", "://"} {
		_, err := client.New(base, nil)
		require.Error(t, err, base)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestClient_returnsTheStatusOfAForeignAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		http.Error(w, "no", http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, nil)
	require.NoError(t, err)
	require.ErrorContains(t, c.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}),
		`create namespace "w3c": the server answered 502`)
	_, err = c.Upload(t.Context(), version, "f", strings.NewReader(strings.Repeat("x", 10<<20)), nil)
	require.Error(t, err)
}

func TestClient_sendsTheTokenToTheRepositoryAlone(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, &client.Options{Token: "s3cret"})
	require.NoError(t, err)
	err = c.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{})
	require.ErrorContains(t, err, "redirected to another server")
	require.NotContains(t, err.Error(), "s3cret")
	_, err = c.Upload(t.Context(), version, "f", strings.NewReader("content"), nil)
	require.ErrorContains(t, err, "307") // the body cannot be sent again
	for _, header := range got {
		require.Equal(t, "Bearer s3cret", header)
	}
	require.GreaterOrEqual(t, len(got), 2)
	require.False(t, reached)

	_, err = client.New(server.URL, &client.Options{Token: "s3 cret"})
	require.ErrorContains(t, err, "Options.Token: ")
	require.NotContains(t, err.Error(), "cret")
}

func TestClient_refusesAnswersWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, `{"name":"`)
		for piece := bytes.Repeat([]byte("x"), 1<<20); err == nil; {
			_, err = w.Write(piece)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, nil)
	require.NoError(t, err)
	require.ErrorContains(t, c.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}), "more than 67108864 bytes")
	_, err = c.Namespace(t.Context(), "w3c", nil)
	require.ErrorContains(t, err, "more than 67108864 bytes")
}
