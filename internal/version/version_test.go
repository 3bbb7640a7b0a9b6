package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestString_takesTheFirstThatIsKnown(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}}
	dirty := append([]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, commit...)
	for _, c := range []struct {
		stamped, main string
		settings      []debug.BuildSetting
		want          string
	}{
		{"v1.2.3", "v0.9.0", dirty, "v1.2.3"},
		{"", "v0.9.0", dirty, "v0.9.0"},
		{"", "(devel)", dirty, "devel-0123456789ab-dirty"},
		{"", "(devel)", commit, "devel-0123456789ab"},
		{"", "", nil, "devel"},
	} {
		require.Equal(t, c.want, of(c.stamped, &debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings}))
	}
	require.NotEmpty(t, String())
}
