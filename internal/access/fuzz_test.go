package access

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseTokens(f *testing.F) {
	f.Add("# callers\nada admin 0123456789abcdef\n\n bob\treader  fedcba9876543210 \r\n")
	f.Add("ada owner 0123456789abcdef")
	f.Add("# none\n")
	f.Add(strings.Repeat("x", 70_000))
	f.Fuzz(func(t *testing.T, text string) {
		known, err := parseTokens("tokens", []byte(text))
		if err != nil {
			require.Empty(t, known)
			return
		}
		for _, line := range strings.Split(text, "\n") {
			fields := strings.Fields(line)
			if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
				continue
			}
			identity, ok := known[digestCredential(fields[2])]
			require.True(t, ok)
			require.Equal(t, Identity{fields[0], identity.Role}, identity)
		}
	})
}

func FuzzOwnPath(f *testing.F) {
	for _, to := range []string{
		"/", "/things?a=b", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example",
	} {
		f.Add(to)
	}
	f.Fuzz(func(t *testing.T, to string) {
		path := ownPath(to)
		require.Equal(t, byte('/'), path[0])
		require.False(t, len(path) > 1 && (path[1] == '/' || path[1] == '\\'))
		require.NotContains(t, path, "\n")
	})
}
