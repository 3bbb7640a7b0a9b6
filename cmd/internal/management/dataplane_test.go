package management

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestDataPlane_ready_isRefusedWhileItDrains(t *testing.T) {
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"one"`)
		_, _ = io.WriteString(w, `{"config":{},"secret":"the secret of cookies"}`)
	}))
	defer manager.Close()
	f, err := follow.New(follow.Config{ControlPlane: manager.URL, File: filepath.Join(t.TempDir(), ConfigurationFile)})
	require.NoError(t, err)
	g, err := gateway.New(nil)
	require.NoError(t, err)
	d := &DataPlane{follower: f, gateway: g}
	ready := func(draining bool) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/readyz", nil)
		r = r.WithContext(httpapi.WithInstruments(t.Context(), &httpapi.Instruments{Draining: func() bool { return draining }}))
		w := httptest.NewRecorder()
		require.NoError(t, d.ready(w, r))
		return w.Code, w.Body.String()
	}
	status, text := ready(false)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "no configuration yet")

	f.Start(g)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	require.Eventually(t, func() bool { return f.State().Serving }, 30*time.Second, time.Millisecond)
	status, text = ready(false)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "ready")
	status, text = ready(true)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "about to stop")
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, g.Close())
}
