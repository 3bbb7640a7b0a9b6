package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestSlots_Take_refusesWhenAllAreTaken(t *testing.T) {
	slots := httpapi.NewSlots(2, "There are too many downloads.")
	release, err := slots.Take()
	require.NoError(t, err)
	_, err = slots.Take()
	require.NoError(t, err)
	for range 2 {
		_, err = slots.Take()
		var refusal *httpapi.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, http.StatusServiceUnavailable, refusal.Status)
		require.Equal(t, "There are too many downloads.", refusal.Text())
		require.NoError(t, refusal.Err, "a limit is not logged as an error")
	}
	release()
	_, err = slots.Take()
	require.NoError(t, err)
}
