package modelrepo

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// codeHeader says in a word what the sentence of an error means, so that a
// Client can tell one 400 from another.
const codeHeader = "X-Error-Code"

// verdict is how a refusal looks over HTTP.
type verdict struct {
	kind   error
	status int
	code   string
}

// verdicts lists the refusals.
func verdicts() []verdict {
	return []verdict{
		{ErrNotFound, http.StatusNotFound, "not-found"},
		{ErrExists, http.StatusConflict, "exists"},
		{ErrContentExists, http.StatusBadRequest, "content-exists"},
		{ErrNotEmpty, http.StatusBadRequest, "not-empty"},
		{ErrInvalid, http.StatusBadRequest, "invalid"},
		{ErrPrecondition, http.StatusPreconditionFailed, "precondition"},
		{ErrDigest, http.StatusBadRequest, "digest"},
		{ErrIncomplete, http.StatusBadRequest, "incomplete"},
		{ErrExpired, http.StatusConflict, "expired"},
		{ErrOffset, http.StatusConflict, "offset"},
		{ErrTooLong, http.StatusRequestEntityTooLarge, "too-long"},
		{ErrChecksum, statusChecksum, "checksum"},
		{ErrImmutable, http.StatusConflict, "immutable"},
		{ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
		{ErrQuota, http.StatusInsufficientStorage, "quota"},
	}
}

// classify decides the status of a refusal. The text is the refusal's own.
func classify(err error) *httpapi.Error {
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
	case errors.Is(err, storage.ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The storage cannot be reached. Please try again.", Err: err}
	default:
		return nil
	}
	for _, v := range verdicts() {
		if errors.Is(refusal.Err, v.kind) {
			return &httpapi.Error{Status: v.status, Detail: refusal.Text, Err: err}
		}
	}
	return nil
}

// writeError answers with an ErrorResponse.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	for _, v := range verdicts() {
		if errors.Is(e.Err, v.kind) {
			w.Header().Set(codeHeader, v.code)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(errorBody(e)) // a client that went away is no error of ours
}

// malformed refuses a request that never gets as far as the store.
func malformed(text string) error { return invalid(http.StatusBadRequest, text) }

func invalid(status int, text string) error {
	return &httpapi.Error{Status: status, Detail: text, Err: ErrInvalid}
}
