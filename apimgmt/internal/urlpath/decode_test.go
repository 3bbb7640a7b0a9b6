package urlpath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/internal/urlpath"
)

func TestDecode_keepsWhatIsReserved(t *testing.T) {
	for path, want := range map[string]string{
		"/a": "/a", "/%61%2f%2F": "/a%2F%2F", "/%": "/%25", "/%zz": "/%25zz", "/%2": "/%252", "/%7eb": "/~b", "/%25": "/%25", "/%c3%a9": "/é",
	} {
		require.Equal(t, want, urlpath.Decode(path), path)
		require.Equal(t, want, urlpath.Decode(want), "decoding twice changes nothing")
	}
}
