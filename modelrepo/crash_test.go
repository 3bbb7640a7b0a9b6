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

// deed is one write and what it changes of what everybody sees.
type deed struct {
	name string
	do   func(context.Context, *modelrepo.Store) error
	see  func(map[string]string) // nil changes nothing
}

var (
	crashModel   = modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	crashVersion = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
)

func uploadDeed(format, data string) deed {
	return deed{"upload " + format + "=" + data, func(ctx context.Context, s *modelrepo.Store) error {
		_, err := s.Upload(ctx, crashVersion, format, strings.NewReader(data), &modelrepo.UploadOptions{Overwrite: true})
		return err
	}, func(seen map[string]string) {
		seen[format] = data
		if seen["w3c/sosa/1.0"] == "" {
			seen["w3c/sosa/1.0"] = format
		}
	}}
}

func deleteDeed(format string) deed {
	return deed{"delete " + format, func(ctx context.Context, s *modelrepo.Store) error {
		return s.DeleteContent(ctx, crashVersion, format, modelrepo.Condition{})
	}, func(seen map[string]string) { delete(seen, format) }}
}

func collectDeed() deed {
	return deed{"collect", func(ctx context.Context, s *modelrepo.Store) error {
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

// life is what a repository goes through: everything that writes, with contents
// that are shared, overwritten, collected and uploaded again.
func life() []deed {
	return []deed{
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
		uploadDeed("f1", "a"), uploadDeed("f2", "a"), uploadDeed("f1", "b"), deleteDeed("f2"),
		collectDeed(), collectDeed(), uploadDeed("f3", "a"), collectDeed(), collectDeed(),
		deleteDeed("f3"), collectDeed(), uploadDeed("f4", "a"), deleteDeed("f4"),
		collectDeed(), collectDeed(), collectDeed(), uploadDeed("f5", "a"),
		deleteDeed("f1"), deleteDeed("f5"),
		{"delete version", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteVersion(ctx, crashVersion) }, drop("w3c/sosa/1.0")},
		{"delete model", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteModel(ctx, crashModel) }, drop("w3c/sosa")},
		{"delete namespace", func(ctx context.Context, s *modelrepo.Store) error { return s.DeleteNamespace(ctx, "w3c") }, drop("w3c")},
		collectDeed(),
	}
}

// look returns what everybody sees, and checks that all content is whole.
func look(t *testing.T, s *modelrepo.Store) map[string]string {
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
					lookAt(t, s, modelrepo.Path{Namespace: namespace.Name, Model: model.Name, Version: version.Version}, seen)
				}
			}
		}
	}
	return seen
}

func lookAt(t *testing.T, s *modelrepo.Store, at modelrepo.Path, seen map[string]string) {
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

// TestNothingIsLostWhereverTheProcessDies lets the process die at every single
// operation on its stores, before and after that happened.
func TestNothingIsLostWhereverTheProcessDies(t *testing.T) {
	for _, lastWish := range []bool{false, true} {
		deaths := 0
		for dies := int64(1); ; dies++ {
			if !dieAt(t, dies, lastWish) {
				break
			}
			deaths++
		}
		require.Greater(t, deaths, 150, "the life is too short to show anything")
	}
}

// dieAt reports whether the process died before its life was over.
func dieAt(t *testing.T, dies int64, lastWish bool) bool {
	t.Helper()
	documents, blobs := openMemory(t)
	victim := &mortal{dies: dies, lastWish: lastWish}
	s := impatient(t, mortalDocuments{victim, documents}, mortalBlobs{victim, blobs})
	before := map[string]string{}
	for at, deed := range life() {
		after := maps.Clone(before)
		if deed.see != nil {
			deed.see(after)
		}
		if err := deed.do(t.Context(), s); err == nil && victim.count.Load() < dies {
			before = after
			continue
		} else if err == nil {
			before = after // it was acknowledged, though its tidying up was not
		}
		what := fmt.Sprintf("died at operation %d (%v) of %q", dies, lastWish, deed.name)
		survivor := impatient(t, documents, blobs)
		seen := look(t, survivor)
		require.Contains(t, []map[string]string{before, after}, seen, what)
		tidy(t, survivor, documents, blobs, what)
		require.Equal(t, seen, look(t, survivor), "%s: tidying up changed what is seen", what)
		carryOn(t, survivor, life()[at:], what)
		tidy(t, survivor, documents, blobs, what)
		return true
	}
	return false
}

func impatient(t *testing.T, documents storage.Documents, blobs storage.Blobs) *modelrepo.Store {
	t.Helper()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Grace: 1, Settle: 1})
	require.NoError(t, err)
	return s
}

// carryOn does the rest, the interrupted deed again. That may have been done.
func carryOn(t *testing.T, s *modelrepo.Store, rest []deed, what string) {
	t.Helper()
	for i, deed := range rest {
		err := deed.do(t.Context(), s)
		if i == 0 && err != nil {
			require.True(t, isAny(err, modelrepo.ErrExists, modelrepo.ErrNotFound), "%s: again: %v", what, err)
			continue
		}
		require.NoError(t, err, "%s: carrying on with %q", what, deed.name)
	}
	require.Empty(t, look(t, s), what)
}

// tidy repairs and collects, and checks that nothing is left that nobody needs.
func tidy(t *testing.T, s *modelrepo.Store, documents storage.Documents, blobs storage.Blobs, what string) {
	t.Helper()
	for range 4 {
		_, err := s.Repair(t.Context())
		require.NoError(t, err, what)
		_, err = s.Collect(t.Context())
		require.NoError(t, err, what)
	}
	needed := map[string]bool{}
	for _, data := range look(t, s) {
		sum := sha256.Sum256([]byte(data))
		needed[hex.EncodeToString(sum[:])] = true
	}
	for doc, err := range storage.All(t.Context(), documents, "") {
		require.NoError(t, err)
		require.False(t, bytes.Contains(doc.Data, []byte(`"mark"`)) || bytes.Contains(doc.Data, []byte(`"uploads"`)), "%s: %s is left: %s", what, doc.Key, doc.Data)
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
