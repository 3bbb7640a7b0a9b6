package exposition_test

import (
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/exposition"
)

func TestHandler_servesTheCollectorsAndTheProcess(t *testing.T) {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total", Help: "Things."})
	handler := exposition.Handler(counter)
	counter.Add(3)
	w := httptest.NewRecorder()
	require.NoError(t, handler(w, httptest.NewRequest("GET", "/metrics", nil)))
	require.Contains(t, w.Body.String(), "\nthings_total 3\n")
	require.Contains(t, w.Body.String(), "\ngo_goroutines ")
	require.Panics(t, func() { exposition.Handler(counter, counter) })
}
