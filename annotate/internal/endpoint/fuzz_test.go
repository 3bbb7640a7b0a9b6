package endpoint_test

import (
	"strings"
	"testing"

	"github.com/iotenablers/enablers/annotate/internal/endpoint"
)

// The text of an answer never has credentials or line breaks in an error.
func FuzzReason(f *testing.F) {
	f.Add([]byte("no\r\nsecret\x00\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		e := &endpoint.Endpoint{Settings: endpoint.Settings{Token: "secret-token"}}
		reason := e.Reason(text)
		if strings.Contains(reason, "secret-token") || strings.ContainsAny(reason, "\r\n\x00") || len(reason) > 300+len("…") {
			t.Fatalf("%q", reason)
		}
	})
}
