package modelrepo_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// write is one write and its effect on what readers see.
type write struct {
	name string
	do   func(context.Context, *modelrepo.Store) error
	see  func(map[string]string) // nil has no effect
}

var (
	crashModel   = modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	crashVersion = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
)

func uploadWrite(format, data string) write {
	return write{"upload " + format + "=" + data, func(ctx context.Context, s *modelrepo.Store) error {
		_, err := s.Upload(ctx, crashVersion, format, strings.NewReader(data), &modelrepo.UploadOptions{Overwrite: true})
		return err
	}, func(seen map[string]string) {
		seen[format] = data
		if seen["w3c/sosa/1.0"] == "" {
			seen["w3c/sosa/1.0"] = format
		}
	}}
}

func deleteWrite(format string) write {
	return write{"delete " + format, func(ctx context.Context, s *modelrepo.Store) error {
		return s.DeleteContent(ctx, crashVersion, format, modelrepo.Condition{})
	}, func(seen map[string]string) { delete(seen, format) }}
}

func collectWrite() write {
	return write{"collect", func(ctx context.Context, s *modelrepo.Store) error {
		if _, err := s.Repair(ctx); err != nil {
			return err
		}
		_, err := s.Collect(ctx)
		return err
	}, nil}
}

func put(key, value string) func(map[string]string) {
	return func(seen map[string]string) { seen[key] = value }
}

func drop(key string) func(map[string]string) {
	return func(seen map[string]string) { delete(seen, key) }
}

// lifetime returns all kinds of writes, with contents that are shared, overwritten,
// collected and uploaded again.
func lifetime() []write {
	return []write{
		{"create namespace", func(ctx context.Context, s *modelrepo.Store) error {
			return s.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{})
		}, put("w3c", "")},
		{"create model", func(ctx context.Context, s *modelrepo.Store) error {
			return s.CreateModel(ctx, crashModel, modelrepo.ModelUpdate{LatestVersion: "0.9"})
		}, put("w3c/sosa", "0.9")},
		{"create version", func(ctx context.Context, s *modelrepo.Store) error {
			return s.CreateVersion(ctx, crashVersion, modelrepo.VersionUpdate{})
		}, put("w3c/sosa/1.0", "")},
		{"update model", func(ctx context.Context, s *modelrepo.Store) error {
			_, err := s.UpdateModel(ctx, crashModel, modelrepo.ModelUpdate{LatestVersion: "1.0"})
			return err
		}, put("w3c/sosa", "1.0")},
		uploadWrite("f1", "a"), uploadWrite("f2", "a"), uploadWrite("f1", "b"), deleteWrite("f2"),
		collectWrite(), collectWrite(), uploadWrite("f3", "a"), collectWrite(), collectWrite(),
		deleteWrite("f3"), collectWrite(), uploadWrite("f4", "a"), deleteWrite("f4"),
		collectWrite(), collectWrite(), collectWrite(), uploadWrite("f5", "a"),
		deleteWrite("f1"), deleteWrite("f5"),
		{"delete version", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteVersion(ctx, crashVersion) },
			drop("w3c/sosa/1.0")},
		{"delete model", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteModel(ctx, crashModel) },
			drop("w3c/sosa")},
		{"delete namespace", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteNamespace(ctx, "w3c") },
			drop("w3c")},
		collectWrite(),
	}
}

// observe returns what readers see, and checks that all content is complete.
func observe(t *testing.T, s *modelrepo.Store) map[string]string {
	t.Helper()
	ctx, seen := t.Context(), map[string]string{}
	for _, listing := range []*modelrepo.Listing{nil, {}} {
		root, err := s.Namespaces(ctx, listing)
		require.NoError(t, err)
		for _, namespace := range root.Items {
			seen[namespace.Name] = ""
			whole, err := s.Namespace(ctx, namespace.Name, listing)
			require.NoError(t, err)
			if whole.Models == nil {
				continue
			}
			for _, model := range whole.Models.Items {
				seen[namespace.Name+"/"+model.Name] = model.LatestVersion
				one, err := s.Model(ctx, modelrepo.Path{Namespace: namespace.Name, Model: model.Name}, listing)
				require.NoError(t, err)
				if one.Versions == nil {
					continue
				}
				for _, version := range one.Versions.Items {
					observeVersion(t, s, modelrepo.Path{Namespace: namespace.Name, Model: model.Name, Version: version.Version},
						seen)
				}
			}
		}
	}
	return seen
}

func observeVersion(t *testing.T, s *modelrepo.Store, at modelrepo.Path, seen map[string]string) {
	t.Helper()
	version, err := s.Version(t.Context(), at)
	require.NoError(t, err)
	seen[at.String()] = version.DefaultFormat
	for format, file := range version.Formats {
		content, err := s.Open(t.Context(), at, format)
		require.NoError(t, err)
		data, err := io.ReadAll(content)
		require.NoError(t, err)
		require.NoError(t, content.Close())
		sum := sha256.Sum256(data)
		require.Equal(t, file.SHA256, hex.EncodeToString(sum[:]))
		seen[format] = string(data)
	}
}

// TestStore_losesNothingInACrashAnywhere crashes the process at every single operation
// on its stores, before and after the operation happened.
func TestStore_losesNothingInACrashAnywhere(t *testing.T) {
	for _, applyLast := range []bool{false, true} {
		deaths := 0
		for crashAt := int64(1); ; crashAt++ {
			if !crashIn(t, crashAt, applyLast) {
				break
			}
			deaths++
		}
		require.Greater(t, deaths, 150, "the life is too short to show anything")
	}
}

// crashIn reports whether the process crashed before the lifetime was over.
func crashIn(t *testing.T, crashAt int64, applyLast bool) bool {
	t.Helper()
	documents, blobs := openMemory(t)
	crashed := &crasher{crashAt: crashAt, applyLast: applyLast}
	s := newWithoutGrace(t, crashingDocuments{crashed, documents}, crashingBlobs{crashed, blobs})
	before := map[string]string{}
	for at, write := range lifetime() {
		after := maps.Clone(before)
		if write.see != nil {
			write.see(after)
		}
		if err := write.do(t.Context(), s); err == nil && crashed.count.Load() < crashAt {
			before = after
			continue
		} else if err == nil {
			before = after // it was acknowledged, though its cleaning up was not
		}
		what := fmt.Sprintf("crashed at operation %d (%v) of %q", crashAt, applyLast, write.name)
		other := newWithoutGrace(t, documents, blobs)
		seen := observe(t, other)
		require.Contains(t, []map[string]string{before, after}, seen, what)
		requireClean(t, other, documents, blobs, what)
		require.Equal(t, seen, observe(t, other), "%s: tidying up changed what is seen", what)
		finish(t, other, lifetime()[at:], what)
		requireClean(t, other, documents, blobs, what)
		return true
	}
	return false
}

func newWithoutGrace(t *testing.T, documents storage.Documents, blobs storage.Blobs) *modelrepo.Store {
	t.Helper()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Grace: 1, Settle: 1})
	require.NoError(t, err)
	return s
}

// finish runs the remaining writes, and the interrupted one again, which may have
// happened.
func finish(t *testing.T, s *modelrepo.Store, rest []write, what string) {
	t.Helper()
	for i, write := range rest {
		err := write.do(t.Context(), s)
		if i == 0 && err != nil {
			require.True(t, isAny(err, modelrepo.ErrExists, modelrepo.ErrNotFound), "%s: again: %v", what, err)
			continue
		}
		require.NoError(t, err, "%s: carrying on with %q", what, write.name)
	}
	require.Empty(t, observe(t, s), what)
}

// requireClean repairs and collects, and checks that nothing is left that is not
// needed.
func requireClean(t *testing.T, s *modelrepo.Store, documents storage.Documents, blobs storage.Blobs, what string) {
	t.Helper()
	for range 4 {
		_, err := s.Repair(t.Context())
		require.NoError(t, err, what)
		_, err = s.Collect(t.Context())
		require.NoError(t, err, what)
	}
	needed := map[string]bool{}
	for _, data := range observe(t, s) {
		sum := sha256.Sum256([]byte(data))
		needed[hex.EncodeToString(sum[:])] = true
	}
	for doc, err := range storage.All(t.Context(), documents, "") {
		require.NoError(t, err)
		require.False(t, bytes.Contains(doc.Data, []byte(`"mark"`)) ||
			bytes.Contains(doc.Data, []byte(`"uploads"`)), "%s: %s is left: %s", what, doc.Key, doc.Data)
		require.False(t, strings.HasPrefix(doc.Key, "condemned/"), "%s: %s is left", what, doc.Key)
		if sha256, found := strings.CutPrefix(doc.Key, "content/"); found {
			require.True(t, needed[sha256], "%s: %s is left", what, doc.Key)
		}
	}
	for info, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		require.True(t, needed[info.SHA256], "%s: %s is left", what, info.Key)
	}
}
