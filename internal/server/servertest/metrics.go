package servertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

// CheckMetrics checks that the address of metrics of a command has what those of all commands
// have, in a form that Prometheus' linter accepts. A token that is not empty is shown.
func CheckMetrics(t *testing.T, command, address, token string) {
	t.Helper()
	var text string
	var client http.Client
	for range 2 { // the second answer counts the first
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
		text = string(body)
	}
	for _, want := range []string{
		command + `_build_info{goversion="`, `http_requests_total{method="GET",route="/metrics",status="200"} `,
		`http_request_duration_seconds_bucket{method="GET",route="/metrics",status="200",le="+Inf"} `,
		`http_requests_open{method="GET",route="/metrics"} 1`, "go_goroutines ", "process_start_time_seconds ",
	} {
		require.Contains(t, text, "\n"+want)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}
