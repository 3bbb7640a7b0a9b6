package node

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// statusOf is the status by which a request is refused.
func statusOf(kind faultKind) int {
	switch kind {
	case malformed:
		return http.StatusBadRequest
	case unknown:
		return http.StatusNotFound
	case conflict:
		return http.StatusConflict
	case denied:
		return http.StatusForbidden
	case unsupported:
		return http.StatusNotImplemented
	case full:
		return http.StatusInsufficientStorage
	case unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// classify says what a client gets for an error.
func classify(err error) *httpapi.Error {
	f := refusal(err)
	status := statusOf(f.kind)
	if f.kind == internal {
		if errors.Is(err, errUncertain) {
			return &httpapi.Error{Status: status, Detail: errUncertain.Error(), Err: err}
		}
		return nil
	}
	if f.kind == unavailable && f.err == nil {
		return &httpapi.Error{Status: status, Detail: f.Error()}
	}
	return &httpapi.Error{Status: status, Detail: f.Error(), Err: f}
}

// problem is an error as RFC 9457 has it.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"` // of the request
}

func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	p := problem{Title: http.StatusText(e.Status), Status: e.Status, Detail: cmp.Or(e.Detail, e.Hint)}
	var f *fault
	if errors.As(e.Err, &f) {
		p.Field = f.field
	}
	data, err := json.Marshal(p)
	if err != nil {
		data = []byte(`{}`) // it has strings and a number only
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if e.Status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "2")
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(data) // a client that went away is no error of ours
}

// writeJSON answers with a document that is not cached.
func writeJSON(w http.ResponseWriter, status int, document any) error {
	data, err := json.Marshal(document)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that went away is no error of ours
	return nil
}
