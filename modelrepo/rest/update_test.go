package rest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// newModel returns a store with a namespace and the path of a model in it.
func newModel(tb testing.TB) (*modelrepo.Store, modelrepo.Path) {
	tb.Helper()
	store, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(tb, err)
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	require.NoError(tb, store.CreateNamespace(tb.Context(), at.Namespace, modelrepo.NamespaceUpdate{}))
	require.NoError(tb, store.CreateModel(tb.Context(), at, modelrepo.ModelUpdate{}))
	return store, at
}

func FuzzDecodeUpdate(f *testing.F) {
	for _, seed := range []string{`{}`, `{"latestVersion":"1.0"}`, `{"latestVersion":"@unset","mongoUpdates":[{}]}`,
		`{"latestVersion":1}`, `null`, `[`, `{"a":1}`, `{"latestVersion":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value string
		fault := decodeUpdate(data, fields{"latestVersion": textField("latestVersion", &value)})
		if fault != "" {
			require.True(t, strings.HasPrefix(fault, "Request content was malformed.") ||
				strings.HasPrefix(fault, "Error validating the body of the request: '"), fault)
		}
	})
}

func FuzzDecodeModelUpdate(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":{"a":"b","c":["d","e"],"f":[]}}`, `{"metadata":"@unset"}`, `{"metadata":{"@unset":"x"}}`,
		`{"metadata":{"a":"@unset"}}`,
		`{"metadata":{"a":["@unset","b"]}}`, `{"metadata":null,"aliases":null}`, `{"aliases":{"a":"1","b":"@unset"}}`,
		`{"metadata":{"a":{"b":1}}}`,
		`{"metadata":{"ä":"b"}}`, `{"metadata":{"a":"\ud800"}}`, `{"latestVersion":"1","metadata":{"":""}}`,
	} {
		f.Add([]byte(seed))
	}
	keys := "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f.Fuzz(func(t *testing.T, data []byte) {
		var u modelrepo.ModelUpdate
		fault := decodeUpdate(data, (*modelBody)(&u).fields())
		if fault != "" {
			require.True(t, strings.HasPrefix(fault, "Request content was malformed.") ||
				strings.HasPrefix(fault, "Error validating the body of the request: "), fault)
			return
		}
		store, at := newModel(t)
		if _, err := store.UpdateModel(t.Context(), at, u); err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		if _, all := u.Metadata[modelrepo.Unset]; !all {
			for key, values := range u.Metadata {
				require.Empty(t, strings.Trim(key, keys))
				require.LessOrEqual(t, len(values), modelrepo.MaxMetadataValues)
				for _, value := range values {
					require.True(t, utf8.ValidString(value))
					require.LessOrEqual(t, utf8.RuneCountInString(value), modelrepo.MaxMetadataValue)
				}
			}
		}
		// What a client sends of it says the same.
		form, err := json.Marshal(u)
		require.NoError(t, err)
		var again modelrepo.ModelUpdate
		fault = decodeUpdate(form, (*modelBody)(&again).fields())
		require.Empty(t, fault)
		require.Equal(t, len(u.Metadata), len(again.Metadata))
		for key, values := range u.Metadata {
			require.True(t, slices.Equal(values, again.Metadata[key]) || key == modelrepo.Unset)
		}
		require.Equal(t, len(u.Aliases), len(again.Aliases))
	})
}

func FuzzDecodeListing(f *testing.F) {
	for _, seed := range []string{"page=1", "page_size=50&order=descending", "sort_by=model",
		"f.model=sosa&f.metadata.a=b&f.metadata.a=c", "f.=1", "f.metadata.=x", "sort_by=metadata.%20", "order=x", "f.latestVersion="} {
		f.Add(seed)
	}
	store, at := newModel(f)
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		l, err := parseListing(query)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		if l == nil {
			return
		}
		if _, err := store.Namespace(t.Context(), at.Namespace, l); err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		require.Positive(t, l.Page)
		require.LessOrEqual(t, l.PageSize, modelrepo.MaxPageSize)
		require.LessOrEqual(t, len(l.Filters), modelrepo.MaxFilters)
		all := []string{l.SortBy}
		for _, filter := range l.Filters {
			all = append(all, filter.Field)
		}
		for _, field := range all {
			known := slices.Contains([]string{"", "name", "model", "latestVersion"}, field)
			require.True(t, known || strings.HasPrefix(field, "metadata."), field)
		}
	})
}

func FuzzDecodeWebhook(f *testing.F) {
	f.Add([]byte(`{"action":"content_upload","callback":"https://example.org/","context":{"namespace":"w3c"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		with, err := decodeWebhook(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(with)
		require.NoError(t, err)
		_, err = decodeWebhook(again)
		require.NoError(t, err)
	})
}
