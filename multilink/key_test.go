package multilink_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
)

func TestKey_String_hidesTheKey(t *testing.T) {
	key := multilink.Key{1, 2, 3}
	state := multilink.State{PrivateKey: key}
	var text, structured strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("key", "key", key, "state", state)
	slog.New(slog.NewJSONHandler(&structured, nil)).Info("key", "key", key)
	for _, shown := range []string{text.String(), structured.String(), fmt.Sprintf("%v %+v %#v %s %q", key, state, state, key, key)} {
		require.NotContains(t, shown, key.Base64())
		require.NotContains(t, shown, "1 2 3")
		require.NotContains(t, shown, "[1,2,3")
		require.NotContains(t, shown, "0x1, 0x2, 0x3")
	}
	again, err := multilink.ParseKey(key.Base64())
	require.NoError(t, err)
	require.Equal(t, key, again)
}
