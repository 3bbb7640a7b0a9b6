package httpapi

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTraffic_allocatesNothingForARouteThatIsKnown(t *testing.T) {
	s := &server{}
	request := httptest.NewRequest("GET", "/models/a", nil)
	request = request.WithContext(WithInstruments(request.Context(), &Instruments{Traffic: &Traffic{}}))
	w := &recorder{method: "GET"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		*w = recorder{method: "GET"}
		seen := s.instrument(w, request)
		w.take("GET /models/{name}")
		w.finish(seen, time.Millisecond)
	}), "neither the counts nor a tracer that is off")
}
