package drivers_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

func TestSettings_Open_opensAJournal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	for start := range 2 {
		flags := server.NewFlags("things", "THINGS", "")
		settings := stores.Declare(flags, stores.Texts{Data: "data"}, drivers.All()...)
		require.Contains(t, flags.Lookup("store").Usage, "journal:FILE")
		require.NoError(t, flags.Parse([]string{"-store", "journal:" + name}))
		require.NoError(t, settings.Check())
		all, err := settings.Open(t.Context(), stores.Config{Owner: datafolder.ModelRepo, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		_, err = storage.Change(t.Context(), all.Documents, "starts", func(found storage.Document) ([]byte, error) {
			require.Equal(t, start == 1, found.Revision != 0)
			return []byte(`1`), nil
		})
		require.NoError(t, err)
		require.NoError(t, all.Close())
	}
}
