package stores

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The listeners answer for a moment longer when the servers have answered.
func TestStores_waiting_answersAfterTheLastAttempt(t *testing.T) {
	s := &Stores{}
	require.NoError(t, s.try(t.Context()))
	answer := httptest.NewRecorder()
	s.waiting(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Equal(t, "the store has not answered yet\n", answer.Body.String())
}
