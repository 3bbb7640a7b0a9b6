package rest

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
	"github.com/iotenablers/enablers/storage"
)

// classify decides the status of a refusal. The text is the refusal's own.
func classify(err error) *httpapi.Error {
	var refusal *modelrepo.Error
	switch {
	case errors.As(err, &refusal):
	case errors.Is(err, storage.ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The storage cannot be reached. Please try again.", Err: err}
	default:
		return nil
	}
	for _, v := range wire.Codes() {
		if errors.Is(refusal.Err, v.Err) {
			return &httpapi.Error{Status: v.Status, Detail: refusal.Text, Err: err}
		}
	}
	return nil
}

// writeError answers with an ErrorResponse.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	for _, v := range wire.Codes() {
		if errors.Is(e.Err, v.Err) {
			w.Header().Set(wire.ErrorCode, v.Name)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(errorBody(e)) // a client that went away is no error of ours
}

// malformed refuses a request that never gets as far as the store.
func malformed(text string) error { return invalid(http.StatusBadRequest, text) }

func invalid(status int, text string) error {
	return &httpapi.Error{Status: status, Detail: text, Err: modelrepo.ErrInvalid}
}
