package cli_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
)

func TestStatus_isTwoForErrorsOfUsage(t *testing.T) {
	failed := errors.New("disk full")
	require.Equal(t, 0, cli.Status(nil))
	require.Equal(t, 1, cli.Status(failed))
	wrong := cli.Usage(failed)
	require.Equal(t, 2, cli.Status(fmt.Errorf("thing: %w", wrong)))
	require.EqualError(t, wrong, "disk full")
	require.ErrorIs(t, wrong, failed)
	require.NoError(t, cli.Usage(nil))
}

func TestNearest_findsWhatWasMeant(t *testing.T) {
	names := []string{"listen", "log-level", "data"}
	for text, want := range map[string]string{"lisen": "listen", "loglevel": "log-level", "dta": "data", "access": "", "": ""} {
		require.Equal(t, want, cli.Nearest(text, names), text)
	}
}
