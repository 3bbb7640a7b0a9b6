//go:build linux

package kernel_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/kernel"
)

func TestAvailable_namesWhatIsMissing(t *testing.T) {
	err := kernel.Available()
	switch {
	case err == nil:
		t.Skip("this kernel has everything; the tests in a virtual machine use it")
	case os.Geteuid() != 0:
		require.ErrorIs(t, err, multilink.ErrDenied)
		require.ErrorContains(t, err, "CAP_NET_ADMIN")
	default:
		require.ErrorIs(t, err, multilink.ErrUnsupported)
		require.Regexp(t, `no devices of type .*(wireguard|vxlan|bond|bridge)`, err)
	}
}
