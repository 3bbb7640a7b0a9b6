package modelrepotest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// Races checks what must hold under concurrency, with several repositories over one
// pair of stores. A slow driver may run fewer rounds; more than 100 show nothing new.
func Races(t *testing.T, open Open, rounds int) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*arena, int)
	}{
		{"one of several creators wins", (*arena).creators},
		{"one of several deleters wins", (*arena).deleters},
		{"no child outlives its parent", (*arena).orphans},
		{"one of several first uploads wins", (*arena).firstUploads},
		{"the first upload that ends sets the default format", (*arena).defaultFormats},
		{"overwriting is atomic for readers", (*arena).overwrites},
		{"collection touches nothing that is referred to", (*arena).collection},
		{"pages follow the changes of others", (*arena).pages},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, blobs := open(t)
			a := &arena{T: t, documents: documents, blobs: blobs}
			for range 3 {
				a.stores = append(a.stores, a.newStore(modelrepo.Config{}))
			}
			c.run(a, rounds)
			a.settled()
		})
	}
}

// arena is several repositories over one pair of stores.
type arena struct {
	*testing.T
	documents storage.Documents
	blobs     storage.Blobs
	stores    []*modelrepo.Store
}

func (a *arena) newStore(config modelrepo.Config) *modelrepo.Store {
	a.Helper()
	config.Documents, config.Blobs = a.documents, a.blobs
	store, err := modelrepo.New(config)
	require.NoError(a, err)
	return store
}

// together runs a function n times at once, each with one of the stores, and
// returns the errors.
func (a *arena) together(n int, run func(i int, s *modelrepo.Store) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = run(i, a.stores[i%len(a.stores)]) })
	}
	all.Wait()
	return errs
}

// oneWins checks that exactly one had no error and the others that one.
func (a *arena) oneWins(errs []error, other error) {
	a.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			require.ErrorIs(a, err, other)
		}
	}
	require.Equal(a, 1, won)
}

func (a *arena) creators(rounds int) {
	for round := range rounds {
		name := fmt.Sprintf("namespace-%d", round)
		a.oneWins(a.together(6, func(_ int, s *modelrepo.Store) error {
			return s.CreateNamespace(a.Context(), name, modelrepo.NamespaceUpdate{})
		}), modelrepo.ErrExists)
		_, err := a.stores[0].Namespace(a.Context(), name, nil)
		require.NoError(a, err)
	}
}

func (a *arena) deleters(rounds int) {
	for round := range rounds {
		name := fmt.Sprintf("namespace-%d", round)
		require.NoError(a, a.stores[0].CreateNamespace(a.Context(), name, modelrepo.NamespaceUpdate{}))
		a.oneWins(a.together(6, func(_ int, s *modelrepo.Store) error { return s.DeleteNamespace(a.Context(), name) }),
			modelrepo.ErrNotFound)
	}
}

func (a *arena) orphans(rounds int) {
	for range rounds {
		require.NoError(a, a.stores[0].CreateNamespace(a.Context(), "w3c", modelrepo.NamespaceUpdate{}))
		model := func(i int) modelrepo.Path { return modelrepo.Path{Namespace: "w3c", Model: fmt.Sprintf("m%d", i)} }
		errs := a.together(6, func(i int, s *modelrepo.Store) error {
			if i%2 == 0 {
				return s.DeleteNamespace(a.Context(), "w3c")
			}
			return s.CreateModel(a.Context(), model(i), modelrepo.ModelUpdate{})
		})
		deleted, created := 0, 0
		for i, err := range errs {
			switch {
			case err == nil && i%2 == 0:
				deleted++
			case err == nil:
				created++
				require.NoError(a, a.stores[0].DeleteModel(a.Context(), model(i)))
			case i%2 == 0:
				require.True(a, errors.Is(err, modelrepo.ErrNotEmpty) || errors.Is(err, modelrepo.ErrNotFound), err)
			default:
				require.ErrorIs(a, err, modelrepo.ErrNotFound)
			}
		}
		require.False(a, deleted > 0 && created > 0, "a namespace was deleted and a model created in it")
		require.LessOrEqual(a, deleted, 1)
		if deleted == 0 {
			require.NoError(a, a.stores[0].DeleteNamespace(a.Context(), "w3c"))
		}
		a.empty()
	}
}

// empty checks that nothing of a tree is left.
func (a *arena) empty() {
	a.Helper()
	for _, prefix := range []string{"namespace/", "model/", "version/"} {
		for doc, err := range storage.All(a.Context(), a.documents, prefix) {
			require.NoError(a, err)
			a.Fatalf("%q is left: %s", doc.Key, doc.Data)
		}
	}
}

var place = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}

// withVersion creates one version.
func (a *arena) withVersion() {
	a.Helper()
	ctx, s := a.Context(), a.stores[0]
	require.NoError(a, s.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(a, s.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(a, s.CreateVersion(ctx, place, modelrepo.VersionUpdate{}))
}

func (a *arena) firstUploads(rounds int) {
	a.withVersion()
	for round := range rounds {
		format := fmt.Sprintf("f%d", round)
		a.oneWins(a.together(4, func(i int, s *modelrepo.Store) error {
			_, err := s.Upload(a.Context(), place, format, strings.NewReader(fmt.Sprint("content ", i%2)), nil)
			return err
		}), modelrepo.ErrContentExists)
		require.NoError(a, a.whole(a.stores[0], format))
	}
}

// defaultFormats uploads several formats of a new version at once. The one that is said to be the default
// format stays it.
func (a *arena) defaultFormats(rounds int) {
	a.withVersion()
	for round := range rounds {
		at := modelrepo.Path{Namespace: place.Namespace, Model: place.Model, Version: fmt.Sprintf("parallel-%d", round)}
		require.NoError(a, a.stores[0].CreateVersion(a.Context(), at, modelrepo.VersionUpdate{}))
		set := make(chan string, 4)
		require.NoError(a, errors.Join(a.together(cap(set), func(i int, s *modelrepo.Store) error {
			format := fmt.Sprint("f", i)
			result, err := s.Upload(a.Context(), at, format, strings.NewReader(format), nil)
			if result.DefaultSet {
				set <- format
			}
			return err
		})...))
		require.Len(a, set, 1)
		first := <-set
		require.NoError(a, a.stores[1].DeleteContent(a.Context(), at, first, modelrepo.Condition{}))
		_, err := a.stores[2].Upload(a.Context(), at, "later", strings.NewReader("later"), nil)
		require.NoError(a, err)
		version, err := a.stores[0].Version(a.Context(), at)
		require.NoError(a, err)
		require.Equal(a, first, version.DefaultFormat)
	}
}

// whole reads content and checks that it has the digest of its description.
func (a *arena) whole(s *modelrepo.Store, format string) error {
	content, err := s.Open(a.Context(), place, format)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	same := hex.EncodeToString(sum[:]) == content.SHA256 && md5Hex(string(data)) == content.MD5
	if !same || int64(len(data)) != content.Size {
		return fmt.Errorf("read %d bytes that are not those of %+v", len(data), content.File)
	}
	return nil
}

// body returns content that differs with i.
func body(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 1000*i+1) }

func (a *arena) overwrites(rounds int) {
	a.withVersion()
	_, err := a.stores[0].Upload(a.Context(), place, "f", bytes.NewReader(body(0)), nil)
	require.NoError(a, err)
	for _, err := range a.together(8, func(i int, s *modelrepo.Store) error {
		for range rounds {
			if i%2 == 0 {
				if err := a.whole(s, "f"); err != nil {
					return err
				}
				continue
			}
			if _, err := s.Upload(a.Context(), place, "f", bytes.NewReader(body(i%4)),
				&modelrepo.UploadOptions{Overwrite: true}); err != nil {
				return err
			}
		}
		return nil
	}) {
		require.NoError(a, err)
	}
}

func (a *arena) collection(rounds int) {
	a.withVersion()
	impatient := a.newStore(modelrepo.Config{Grace: 1, Settle: 1})
	ctx, cancel := context.WithCancel(a.Context())
	var collectors sync.WaitGroup
	var failures, expired atomic.Int64
	for i := range 2 {
		collectors.Go(func() {
			for ctx.Err() == nil {
				_, err := impatient.Collect(ctx)
				if err == nil && i == 0 {
					_, err = impatient.Repair(ctx) // takes tickets of uploads that move
				}
				if err != nil && ctx.Err() == nil {
					failures.Add(1)
					a.Error(err)
				}
			}
		})
	}
	errs := a.together(6, func(i int, s *modelrepo.Store) error {
		format := fmt.Sprintf("f%d", i)
		for round := range rounds {
			// Few contents and many formats, so that they come and go and are shared.
			_, err := s.Upload(a.Context(), place, format, bytes.NewReader(body((i+round)%3)),
				&modelrepo.UploadOptions{Overwrite: true})
			if errors.Is(err, modelrepo.ErrExpired) {
				expired.Add(1)
				continue
			}
			if err == nil {
				err = a.whole(s, format)
			}
			if err == nil && round%3 == 2 {
				err = s.DeleteContent(a.Context(), place, format, modelrepo.Condition{})
			}
			if err != nil && !errors.Is(err, modelrepo.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	cancel()
	collectors.Wait()
	for _, err := range errs {
		require.NoError(a, err)
	}
	require.Zero(a, failures.Load())
	require.Less(a, expired.Load(), int64(6*rounds), "no upload got through")
	version, err := a.stores[0].Version(a.Context(), place)
	require.NoError(a, err)
	for format := range version.Formats {
		require.NoError(a, a.whole(a.stores[0], format), format)
	}
}

// settled checks that after repair and collection nothing is left that nothing refers
// to.
func (a *arena) settled() {
	a.Helper()
	cleaner := a.newStore(modelrepo.Config{Grace: 1, Settle: 1})
	for range 4 {
		_, err := cleaner.Repair(a.Context())
		require.NoError(a, err)
		_, err = cleaner.Collect(a.Context())
		require.NoError(a, err)
	}
	var keys []string
	for doc, err := range storage.All(a.Context(), a.documents, "") {
		require.NoError(a, err)
		require.NotContains(a, string(doc.Data), `"mark"`, doc.Key)
		require.NotContains(a, string(doc.Data), `"uploads"`, doc.Key)
		require.False(a, strings.HasPrefix(doc.Key, "condemned/"), doc.Key)
		keys = append(keys, doc.Key)
	}
	for _, key := range keys {
		kind, path, _ := strings.Cut(key, "/")
		parent := path[:max(strings.LastIndex(path, "/"), 0)]
		switch kind {
		case "model":
			require.Contains(a, keys, "namespace/"+parent)
		case "version":
			require.Contains(a, keys, "model/"+parent)
		}
	}
	referred := a.referred(keys)
	for info, err := range a.blobs.List(a.Context(), "") {
		require.NoError(a, err)
		require.Contains(a, referred, info.SHA256, "a blob is left that nothing refers to")
	}
}

// referred returns the digests of all content.
func (a *arena) referred(keys []string) []string {
	var all []string
	for _, key := range keys {
		text, found := strings.CutPrefix(key, "version/")
		if !found {
			continue
		}
		at, err := modelrepo.ParsePath(text)
		require.NoError(a, err)
		version, err := a.stores[0].Version(a.Context(), at)
		require.NoError(a, err)
		for _, file := range version.Formats {
			all = append(all, file.SHA256)
		}
	}
	return all
}

func (a *arena) pages(rounds int) {
	require.NoError(a, a.stores[0].CreateNamespace(a.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	model := func(i, n int) modelrepo.Path {
		return modelrepo.Path{Namespace: "w3c", Model: fmt.Sprintf("m%d-%d", i, n)}
	}
	for _, err := range a.together(6, func(i int, s *modelrepo.Store) error {
		for n := range rounds {
			if i == 0 {
				if _, err := s.Namespace(a.Context(), "w3c", &modelrepo.Listing{}); err != nil {
					return err
				}
				continue
			}
			if err := s.CreateModel(a.Context(), model(i, n), modelrepo.ModelUpdate{}); err != nil {
				return err
			}
			if n > 0 { // so that there is one page, because several are not of one moment
				if err := s.DeleteModel(a.Context(), model(i, n-1)); err != nil {
					return err
				}
			}
			// What one repository has done is in the pages of the others at once.
			set, err := a.names(a.stores[(i+1)%len(a.stores)])
			if err != nil {
				return err
			}
			if !slices.Contains(set, model(i, n).Model) || slices.Contains(set, model(i, n-1).Model) {
				return fmt.Errorf("pages of another repository miss a change of %v", model(i, n))
			}
		}
		return nil
	}) {
		require.NoError(a, err)
	}
	whole, err := a.stores[0].Namespace(a.Context(), "w3c", nil)
	require.NoError(a, err)
	for _, s := range a.stores {
		page, err := s.Namespace(a.Context(), "w3c", &modelrepo.Listing{PageSize: 1})
		require.NoError(a, err)
		require.Equal(a, whole.Models.TotalCount, page.Models.TotalCount)
	}
}

// names returns the names of the first page.
func (a *arena) names(s *modelrepo.Store) ([]string, error) {
	namespace, err := s.Namespace(a.Context(), "w3c", &modelrepo.Listing{PageSize: modelrepo.MaxPageSize})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, model := range namespace.Models.Items {
		names = append(names, model.Name)
	}
	return names, nil
}
