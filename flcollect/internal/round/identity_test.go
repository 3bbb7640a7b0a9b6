package round

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVisible_boundsNames(t *testing.T) {
	require.Equal(t, "client-1 ü", visible("client-1 ü"))
	for _, name := range []string{"a\nb", "\xff", string(make([]byte, 1000)), "a\u202eb"} {
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", visible(name))
	}
}
