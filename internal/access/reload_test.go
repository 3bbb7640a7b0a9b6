package access_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/access"
)

func TestTokenFile_Reload_readsTheFileNow(t *testing.T) {
	const second = "another-token-of-the-file"
	name := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write("a reader first-token-of-the-file\n")
	file, err := access.OpenTokens(t.Context(), name, nil)
	require.NoError(t, err)
	door, err := access.New(access.Config{Name: "server", Tokens: []*access.TokenFile{file}})
	require.NoError(t, err)
	admits := func(token string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return door.Authorize(r, "reader") == nil
	}
	require.True(t, admits("first-token-of-the-file"))

	write("a reader another-token-of-the-file\n")
	require.NoError(t, file.Reload(t.Context()))
	require.True(t, admits(second))

	write("a reader short\n")
	require.ErrorContains(t, file.Reload(t.Context()), "can be guessed")
	require.True(t, admits(second), "those from before hold")
	require.NoError(t, os.Remove(name))
	require.ErrorContains(t, file.Reload(t.Context()), "reload tokens")
	require.True(t, file.Reloads())
	none := access.NewToken(access.Identity{Name: "b", Role: "admin"}, second)
	require.NoError(t, none.Reload(t.Context()))
	require.False(t, none.Reloads())
}

func TestNewTokenFrom_isReplacedByReload(t *testing.T) {
	next, fault := "the-first-token-of-it", error(nil)
	token := access.NewTokenFrom(access.Identity{Name: "a", Role: "admin"}, next, func() (string, error) { return next, fault })
	door, err := access.New(access.Config{Name: "server", Tokens: []*access.TokenFile{token}})
	require.NoError(t, err)
	admits := func(token string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return door.Authorize(r, "admin") == nil
	}
	require.True(t, admits("the-first-token-of-it"))
	next = "the-second-token-of-it"
	require.NoError(t, token.Reload(t.Context()))
	require.True(t, admits("the-second-token-of-it"))
	require.False(t, admits("the-first-token-of-it"))
	next, fault = "", errors.New("no such file")
	require.ErrorIs(t, token.Reload(t.Context()), fault)
	require.True(t, admits("the-second-token-of-it"), "that from before holds")
}
