package web

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
	"github.com/iotenablers/enablers/storage"
)

// Classify returns the status of an error of a repository, with the sentence for the client. It
// returns nil for errors that get status 500 and no such sentence.
func Classify(err error) *httpapi.Error {
	var refusal *modelrepo.Error
	switch {
	case errors.Is(err, storage.ErrFull):
		const text = "The storage is full. Please try again when there is space. What is deleted frees space after the grace " +
			"period, or at once when the operator runs 'modelrepo collect'."
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Detail: text, Err: err}
	case errors.As(err, &refusal):
	case errors.Is(err, storage.ErrUnavailable):
		const text = "The storage cannot be reached. Please try again."
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: text, Err: err}
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
