//go:build no_mongodb && no_s3

package stores_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/stores"
)

func TestSettings_Open_namesTheTagOfWhatIsLeftOut(t *testing.T) {
	for flags, tag := range map[[2]string]string{
		{"-store", "mongodb://127.0.0.1/a"}: "no_mongodb",
		{"-blobs", "s3://127.0.0.1/a"}:      "no_s3",
	} {
		_, err := settings(t, flags[:]...).Open(t.Context(),
			stores.Config{Owner: datafolder.ModelRepo, Logger: slog.New(slog.DiscardHandler)})
		require.ErrorContains(t, err, tag)
	}
}
