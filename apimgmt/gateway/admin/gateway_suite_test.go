package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func TestStore_passesTheGatewaySuite(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
			s, _ := openStore(t, storage.NewMemoryDocuments())
			return s
		})
	})
	t.Run("on disk", func(t *testing.T) {
		gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
			d, err := disk.Open(t.Context(), t.TempDir(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			s, _ := openStore(t, storage.Prefixed(d.Documents(), "gateway/"))
			return s
		})
	})
}
