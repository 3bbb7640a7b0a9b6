package modelrepo_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func FuzzDecodeModelUpdate(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":{"a":"b","c":["d","e"],"f":[]}}`, `{"metadata":"@unset"}`, `{"metadata":{"@unset":"x"}}`, `{"metadata":{"a":"@unset"}}`,
		`{"metadata":{"a":["@unset","b"]}}`, `{"metadata":null,"aliases":null}`, `{"aliases":{"a":"1","b":"@unset"}}`, `{"metadata":{"a":{"b":1}}}`,
		`{"metadata":{"ä":"b"}}`, `{"metadata":{"a":"\ud800"}}`, `{"latestVersion":"1","metadata":{"":""}}`,
	} {
		f.Add([]byte(seed))
	}
	keys := "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f.Fuzz(func(t *testing.T, data []byte) {
		u, fault, err := modelrepo.DecodeModelUpdate(data)
		if fault != "" {
			require.True(t, strings.HasPrefix(fault, "Request content was malformed.") || strings.HasPrefix(fault, "Error validating the body of the request: "), fault)
			return
		}
		if err != nil {
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
		again, fault, err := modelrepo.DecodeModelUpdate(form)
		require.NoError(t, err)
		require.Empty(t, fault)
		require.Equal(t, len(u.Metadata), len(again.Metadata))
		for key, values := range u.Metadata {
			require.True(t, slices.Equal(values, again.Metadata[key]) || key == modelrepo.Unset)
		}
		require.Equal(t, len(u.Aliases), len(again.Aliases))
	})
}

func FuzzDecodeListing(f *testing.F) {
	for _, seed := range []string{"page=1", "page_size=50&order=descending", "sort_by=model", "f.model=sosa&f.metadata.a=b&f.metadata.a=c", "f.=1", "f.metadata.=x", "sort_by=metadata.%20", "order=x", "f.latestVersion="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		l, err := modelrepo.DecodeListing(query)
		switch {
		case err != nil:
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
		case l != nil:
			require.Positive(t, l.Page)
			require.LessOrEqual(t, l.PageSize, modelrepo.MaxPageSize)
			require.LessOrEqual(t, len(l.Filters), modelrepo.MaxFilters)
			for _, field := range append([]string{l.SortBy}, fields(l.Filters)...) {
				require.True(t, field == "" || field == "latestVersion" || strings.HasPrefix(field, "metadata."), field)
			}
		}
	})
}

func fields(filters []modelrepo.Filter) (all []string) {
	for _, f := range filters {
		all = append(all, f.Field)
	}
	return all
}

func TestConfigNamesTheLimitThatIsWrong(t *testing.T) {
	documents, blobs := openMemory(t)
	for name, limits := range map[string]modelrepo.Limits{
		"ModelsPerNamespace": {ModelsPerNamespace: -1},
		"VersionsPerModel":   {VersionsPerModel: -1},
		"ContentBytes":       {ContentBytes: -1},
		"NamespaceBytes":     {NamespaceBytes: -1},
		"MetadataBytes":      {MetadataBytes: modelrepo.MaxMetadataSize + 1},
	} {
		_, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Limits: limits})
		require.ErrorContains(t, err, "Config.Limits."+name)
	}
}
