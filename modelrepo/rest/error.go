package rest

import (
	"encoding/json"
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

// writeError answers with an ErrorResponse.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	for _, v := range wire.Codes() {
		if errors.Is(e.Err, v.Err) {
			w.Header().Set(wire.ErrorCode, v.Name)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(errorBody(e)) // the client may have closed the connection
}

// errorBody returns the ErrorResponse of the interface.
func errorBody(e *httpapi.Error) []byte {
	text := e.Text()
	switch {
	case e.Detail != "":
	case e.Status == http.StatusInternalServerError:
		text = "Internal server error."
	case e.Status == http.StatusNotFound:
		text = "The requested resource could not be found."
	case e.Status == http.StatusMethodNotAllowed:
		text = "HTTP method not allowed."
	}
	body, _ := json.Marshal(map[string]string{"error": text}) // strings always have a form
	return body
}
