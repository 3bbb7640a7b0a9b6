package modelrepo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// repository is what a Store and a Client have in common here.
type repository interface {
	CreateNamespace(ctx context.Context, name string, with modelrepo.NamespaceUpdate) error
	UpdateNamespace(ctx context.Context, name string, to modelrepo.NamespaceUpdate) (bool, error)
	Namespace(ctx context.Context, name string, listing *modelrepo.Listing) (modelrepo.Namespace, error)
	CreateModel(ctx context.Context, at modelrepo.Path, with modelrepo.ModelUpdate) error
	UpdateModel(ctx context.Context, at modelrepo.Path, to modelrepo.ModelUpdate) (bool, error)
	Model(ctx context.Context, at modelrepo.Path, listing *modelrepo.Listing) (modelrepo.Model, error)
	CreateVersion(ctx context.Context, at modelrepo.Path, with modelrepo.VersionUpdate) error
	UpdateVersion(ctx context.Context, at modelrepo.Path, to modelrepo.VersionUpdate) (bool, error)
	Version(ctx context.Context, at modelrepo.Path) (modelrepo.Version, error)
	Upload(ctx context.Context, at modelrepo.Path, format string, content io.Reader,
		opts *modelrepo.UploadOptions) (modelrepo.Uploaded, error)
	DeleteVersion(ctx context.Context, at modelrepo.Path) error
	DeleteImmutable(ctx context.Context, at modelrepo.Path) error
}

// eachRepository runs a test on a Store and on a Client of one.
func eachRepository(t *testing.T, limits modelrepo.Limits, run func(t *testing.T, r repository)) {
	open := func(t *testing.T) *modelrepo.Store {
		documents, blobs := openMemory(t)
		s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Limits: limits})
		require.NoError(t, err)
		return s
	}
	t.Run("store", func(t *testing.T) { run(t, open(t)) })
	t.Run("client", func(t *testing.T) {
		server := httptest.NewServer(rest.NewHandler(open(t), nil))
		t.Cleanup(server.Close)
		c, err := client.New(server.URL, nil)
		require.NoError(t, err)
		run(t, c)
	})
}

func TestStore_appliesTheSameRulesThroughAClient(t *testing.T) {
	limits := modelrepo.Limits{ModelsPerNamespace: 2, ContentBytes: 10, NamespaceBytes: 15}
	eachRepository(t, limits, func(t *testing.T, r repository) {
		ctx := t.Context()
		model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
		version := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
		described := modelrepo.Metadata{"author": {"W3C"}, "tags": {"a", "b"}}
		require.NoError(t, r.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{Metadata: described}))
		require.NoError(t,
			r.CreateModel(ctx, model, modelrepo.ModelUpdate{Aliases: map[string]string{"stable": "1.0"}, Metadata: described}))
		require.NoError(t, r.CreateVersion(ctx, version, modelrepo.VersionUpdate{Metadata: described}))
		namespace, err := r.Namespace(ctx, "w3c", &modelrepo.Listing{
			SortBy: "metadata.author", Descending: true, Filters: []modelrepo.Filter{{Field: "metadata.tags", Value: "b"},
				{Field: "model", Value: "sosa"}},
		})
		require.NoError(t, err)
		require.Equal(t, described, namespace.Metadata)
		require.Equal(t, int64(1), namespace.Models.TotalCount)
		require.Equal(t, []modelrepo.Model{{Name: "sosa", Namespace: "w3c", Metadata: described,
			Aliases: map[string]string{"stable": "1.0"}}}, namespace.Models.Items)
		_, err = r.Namespace(ctx, "w3c", &modelrepo.Listing{SortBy: "size"})
		require.ErrorIs(t, err, modelrepo.ErrInvalid)

		changed, err := r.UpdateNamespace(ctx, "w3c",
			modelrepo.NamespaceUpdate{Metadata: modelrepo.Metadata{modelrepo.Unset: nil}})
		require.NoError(t, err)
		require.True(t, changed)
		changed, err = r.UpdateModel(ctx, model, modelrepo.ModelUpdate{Metadata: modelrepo.Metadata{"author": {modelrepo.Unset}}})
		require.NoError(t, err)
		require.True(t, changed)
		got, err := r.Model(ctx, model, nil)
		require.NoError(t, err)
		require.Equal(t, modelrepo.Metadata{"tags": {"a", "b"}}, got.Metadata)

		_, err = r.Upload(ctx, version, "f", strings.NewReader("01234567890"), nil)
		require.ErrorIs(t, err, modelrepo.ErrTooLarge)
		_, err = r.Upload(ctx, version, "f", strings.NewReader("0123456789"), nil)
		require.NoError(t, err)
		_, err = r.Upload(ctx, version, "g", strings.NewReader("012345"), nil)
		require.ErrorIs(t, err, modelrepo.ErrQuota)
		require.NoError(t, r.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "ssn"}, modelrepo.ModelUpdate{}))
		require.ErrorIs(t, r.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "more"}, modelrepo.ModelUpdate{}),
			modelrepo.ErrQuota)

		alias := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "stable"}
		found, err := r.Version(ctx, alias)
		require.NoError(t, err)
		require.Equal(t, "1.0", found.Version)
		require.ErrorIs(t, r.DeleteVersion(ctx, alias), modelrepo.ErrInvalid)

		changed, err = r.UpdateVersion(ctx, version, modelrepo.VersionUpdate{Immutable: true})
		require.NoError(t, err)
		require.True(t, changed)
		_, err = r.Upload(ctx, version, "f", strings.NewReader("x"), &modelrepo.UploadOptions{Overwrite: true})
		require.ErrorIs(t, err, modelrepo.ErrImmutable)
		require.ErrorIs(t, r.DeleteVersion(ctx, version), modelrepo.ErrImmutable)
		require.NoError(t, r.DeleteImmutable(ctx, version))
		_, err = r.Version(ctx, version)
		require.ErrorIs(t, err, modelrepo.ErrNotFound)
	})
}

// withModel returns a repository over documents that dawdle, with a model.
func withModel(t *testing.T, limits modelrepo.Limits) (*modelrepo.Store, modelrepo.Path) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: slowDocuments{documents}, Blobs: blobs, Limits: limits})
	require.NoError(t, err)
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	require.NoError(t, s.CreateModel(t.Context(), at, modelrepo.ModelUpdate{}))
	return s, at
}

func TestStore_UpdateModel_neverSharesATagWithAVersion(t *testing.T) {
	s, model := withModel(t, modelrepo.Limits{})
	both := 0
	for i := range 200 {
		name := fmt.Sprint("v", i)
		version := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: name}
		var creating, aliasing error
		var racers sync.WaitGroup
		racers.Go(func() { creating = s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}) })
		racers.Go(func() {
			_, aliasing = s.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Aliases: map[string]string{name: "1.0"}})
		})
		racers.Wait()
		require.False(t, creating == nil && aliasing == nil, "both have the name %q", name)
		if creating != nil {
			require.ErrorIs(t, creating, modelrepo.ErrInvalid)
		}
		if aliasing != nil {
			require.ErrorIs(t, aliasing, modelrepo.ErrExists)
		}
		if creating == nil || aliasing == nil {
			both++
		}
		_, err := s.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Aliases: map[string]string{name: modelrepo.Unset}})
		require.NoError(t, err)
	}
	require.Positive(t, both)
}

func TestStore_Upload_refusesAVersionThatBecameImmutable(t *testing.T) {
	s, model := withModel(t, modelrepo.Limits{})
	version := modelrepo.Path{Namespace: "w3c", Model: model.Model, Version: "1.0"}
	require.NoError(t, s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Upload(t.Context(), version, "f", reader, nil)
		ended <- err
	}()
	_, err := io.WriteString(writer, "begun") // returns once the upload reads
	require.NoError(t, err)
	_, err = s.UpdateVersion(t.Context(), version, modelrepo.VersionUpdate{Immutable: true})
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.ErrorIs(t, <-ended, modelrepo.ErrImmutable)
	got, err := s.Version(t.Context(), version)
	require.NoError(t, err)
	require.True(t, got.Immutable)
	require.Empty(t, got.Formats)
	require.Empty(t, got.DefaultFormat)
}

func TestLimits_holdUnderConcurrentCreation(t *testing.T) {
	const most = 5
	s, model := withModel(t, modelrepo.Limits{VersionsPerModel: most})
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := range 20 {
				at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: fmt.Sprintf("v%d-%d", w, i)}
				err := s.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{})
				if err != nil && !errors.Is(err, modelrepo.ErrQuota) {
					t.Error(err)
				}
				got, listErr := s.Model(t.Context(), model, nil)
				if listErr != nil {
					t.Error(listErr)
				} else if got.Versions != nil && got.Versions.TotalCount > most {
					t.Errorf("there are %d versions", got.Versions.TotalCount)
				}
				if err == nil {
					if err := s.DeleteVersion(t.Context(), at); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	workers.Wait()
	for i := range most {
		require.NoError(t, s.CreateVersion(t.Context(),
			modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: fmt.Sprint("end", i)}, modelrepo.VersionUpdate{}))
	}
	require.ErrorIs(t, s.CreateVersion(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "over"},
		modelrepo.VersionUpdate{}), modelrepo.ErrQuota)
}

func TestLimits_holdUnderConcurrentUploads(t *testing.T) {
	const most = 10_000
	s, _ := withModel(t, modelrepo.Limits{NamespaceBytes: most})
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	require.NoError(t, s.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
	held := func() int64 {
		v, err := s.Version(t.Context(), at)
		if err != nil {
			t.Error(err)
		}
		total := int64(0)
		for _, f := range v.Formats {
			total += f.Size
		}
		return total
	}
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := range 20 {
				format := fmt.Sprintf("f%d-%d", w, i%3)
				_, err := s.Upload(t.Context(), at, format, strings.NewReader(strings.Repeat("x", 700*(1+(w+i)%4))),
					&modelrepo.UploadOptions{Overwrite: true})
				if err != nil && !errors.Is(err, modelrepo.ErrQuota) {
					t.Error(err)
				}
				if total := held(); total > most {
					t.Errorf("there are %d bytes", total)
				}
				if i%4 == 3 {
					err := s.DeleteContent(t.Context(), at, format, modelrepo.Condition{})
					if err != nil && !errors.Is(err, modelrepo.ErrNotFound) {
						t.Error(err)
					}
				}
			}
		})
	}
	workers.Wait()
	// What is free can be used, to the last byte.
	rest := most - held()
	_, err := s.Upload(t.Context(), at, "rest", strings.NewReader(strings.Repeat("r", int(rest))), nil)
	require.NoError(t, err)
	require.Equal(t, int64(most), held())
	_, err = s.Upload(t.Context(), at, "over", strings.NewReader("x"), nil)
	require.ErrorIs(t, err, modelrepo.ErrQuota)
}

func TestUploads_keepToLimitsAndImmutability(t *testing.T) {
	s, model := withModel(t, modelrepo.Limits{ContentBytes: 10, NamespaceBytes: 15})
	ctx, at := t.Context(), modelrepo.Path{Namespace: "w3c", Model: model.Model, Version: "1.0"}
	require.NoError(t, s.CreateVersion(ctx, at, modelrepo.VersionUpdate{}))
	_, err := s.Uploads().Begin(ctx, at, "f", 11, nil)
	require.ErrorIs(t, err, modelrepo.ErrTooLarge)
	pieces, err := s.Uploads().Begin(ctx, at, "f", 10, nil)
	require.NoError(t, err)
	frozen, err := s.Uploads().Begin(ctx, at, "g", 1, nil)
	require.NoError(t, err)
	_, err = s.Upload(ctx, at, "other", strings.NewReader("0123456789"), nil)
	require.NoError(t, err)
	_, err = s.Uploads().Begin(ctx, at, "h", 6, nil)
	require.ErrorIs(t, err, modelrepo.ErrQuota)

	// What does not fit now may fit later: the last piece can come again.
	_, err = s.Uploads().Continue(ctx, pieces.ID, 0, strings.NewReader("0123456789"), modelrepo.Checksum{})
	require.ErrorIs(t, err, modelrepo.ErrQuota)
	require.NoError(t, s.DeleteContent(ctx, at, "other", modelrepo.Condition{}))
	_, err = s.Uploads().Continue(ctx, pieces.ID, 0, strings.NewReader("0123456789"), modelrepo.Checksum{})
	require.NoError(t, err)

	_, err = s.UpdateVersion(ctx, at, modelrepo.VersionUpdate{Immutable: true})
	require.NoError(t, err)
	_, err = s.Uploads().Continue(ctx, frozen.ID, 0, strings.NewReader("x"), modelrepo.Checksum{})
	require.ErrorIs(t, err, modelrepo.ErrImmutable)
	_, err = s.Uploads().Begin(ctx, at, "i", 1, nil)
	require.ErrorIs(t, err, modelrepo.ErrImmutable)
	_, err = s.UpdateModel(ctx, model, modelrepo.ModelUpdate{Aliases: map[string]string{"stable": "1.0"}})
	require.NoError(t, err)
	at.Version = "stable"
	_, err = s.Uploads().Begin(ctx, at, "i", 1, nil)
	require.ErrorContains(t, err, "The 'stable' tag cannot be used for writes.")
}

func TestStore_Import_keepsToLimitsAndImmutability(t *testing.T) {
	ctx := t.Context()
	source, model := withModel(t, modelrepo.Limits{})
	at := modelrepo.Path{Namespace: "w3c", Model: model.Model, Version: "1.0"}
	require.NoError(t, source.CreateVersion(ctx, at, modelrepo.VersionUpdate{}))
	_, err := source.Upload(ctx, at, "f", strings.NewReader("0123456789"), nil)
	require.NoError(t, err)
	var archive bytes.Buffer
	require.NoError(t, source.Export(ctx, modelrepo.Path{Namespace: model.Namespace}, &archive, nil))
	imported := func(s *modelrepo.Store) error {
		_, err := s.Import(ctx, bytes.NewReader(archive.Bytes()), &modelrepo.ImportOptions{Overwrite: true})
		return err
	}
	for _, c := range []struct {
		limits modelrepo.Limits
		want   error
	}{
		{modelrepo.Limits{}, nil},
		{modelrepo.Limits{ContentBytes: 10, NamespaceBytes: 10, VersionsPerModel: 1}, nil},
		{modelrepo.Limits{ContentBytes: 9}, modelrepo.ErrTooLarge},
		{modelrepo.Limits{NamespaceBytes: 9}, modelrepo.ErrQuota},
	} {
		s, _ := withModel(t, c.limits)
		require.ErrorIs(t, imported(s), c.want)
		_, err := s.Version(ctx, at)
		require.Equal(t, c.want == nil, err == nil)
	}

	s, _ := withModel(t, modelrepo.Limits{VersionsPerModel: 1, NamespaceBytes: 12})
	require.NoError(t, s.CreateVersion(ctx, at, modelrepo.VersionUpdate{}))
	_, err = s.Upload(ctx, at, "f", strings.NewReader("ab"), nil)
	require.NoError(t, err)
	require.NoError(t, imported(s), "what is replaced makes room")
	_, err = s.Upload(ctx, at, "g", strings.NewReader("abc"), nil)
	require.ErrorIs(t, err, modelrepo.ErrQuota)
	_, err = s.Upload(ctx, at, "f", strings.NewReader("ab"), &modelrepo.UploadOptions{Overwrite: true})
	require.NoError(t, err)
	_, err = s.UpdateVersion(ctx, at, modelrepo.VersionUpdate{Immutable: true})
	require.NoError(t, err)
	require.ErrorIs(t, imported(s), modelrepo.ErrImmutable)
	got, err := s.Version(ctx, at)
	require.NoError(t, err)
	require.Equal(t, int64(2), got.Formats["f"].Size)
	require.NoError(t, s.DeleteImmutable(ctx, at))
	_, err = s.UpdateModel(ctx, model, modelrepo.ModelUpdate{Aliases: map[string]string{"1.0": "2.0"}})
	require.NoError(t, err)
	require.ErrorIs(t, imported(s), modelrepo.ErrInvalid, "the tag is an alias")
}

func TestStore_GenerateDocumentation_refusesAnAlias(t *testing.T) {
	s, model := withModel(t, modelrepo.Limits{})
	_, err := s.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Aliases: map[string]string{"stable": "1.0"}})
	require.NoError(t, err)
	at := modelrepo.Path{Namespace: model.Namespace, Model: model.Model, Version: "stable"}
	_, err = s.GenerateDocumentation(t.Context(), at, "markdown", map[string][]byte{"index.md": []byte("# x")}, false)
	require.ErrorContains(t, err, "The 'stable' tag cannot be used for writes.")
	require.ErrorContains(t, s.DeleteDocumentation(t.Context(), at), "The 'stable' tag cannot be used for writes.")
}
