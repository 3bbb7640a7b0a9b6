package jobstest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ask serves one request; headers are names and values.
func Ask(h http.Handler, method, path, text string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(text))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Body is the configuration of a job with nothing but what is required; changes replace
// members by JSON, and remove them where it is empty.
func Body(t testing.TB, changes map[string]string) []byte {
	t.Helper()
	members := map[string]json.RawMessage{
		"strategy":           json.RawMessage(`"avg"`),
		"model_name":         json.RawMessage(`"keras"`),
		"model_version":      json.RawMessage(`"1"`),
		"server_conf":        json.RawMessage(`{}`),
		"strategy_conf":      json.RawMessage(`{}`),
		"client_conf":        json.RawMessage(`[{"epochs":1}]`),
		"privacy-mechanisms": json.RawMessage(`{}`),
		"configuration_id":   json.RawMessage(`10`),
	}
	for name, value := range changes {
		members[name] = json.RawMessage(value)
		if value == "" {
			delete(members, name)
		}
	}
	data, err := json.Marshal(members)
	require.NoError(t, err)
	return data
}
