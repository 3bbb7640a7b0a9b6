package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

func missing(place, name string) wire.Fault {
	return wire.Fault{Loc: []string{place, name}, Msg: "field required", Type: "value_error.missing"}
}

func wrong(place, name, text string) wire.Fault {
	return wire.Fault{Loc: []string{place, name}, Msg: text, Type: "value_error"}
}

// classify decides the status of an error.
func classify(err error) *httpapi.Error {
	var refusal *apimgmt.Error
	var list wire.Faults
	var body *http.MaxBytesError
	switch {
	case errors.As(err, &list):
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Detail: list.Error(), Err: err}
	case errors.Is(err, storage.ErrFull):
		const text = "The storage is full. Please try again when there is space."
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Detail: text, Err: err}
	case errors.As(err, &refusal):
	case errors.As(err, &body):
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The body of the request is too large.", Err: err}
	case errors.Is(err, storage.ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The storage cannot be reached. Please try again.", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "It takes too long. Please try again.", Err: err}
	default:
		return nil
	}
	return &httpapi.Error{Status: wire.Status(refusal.Kind), Detail: refusal.Error(), Err: err}
}

// writeError answers with a Problem.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	problem := wire.Problem{Detail: e.Text()}
	var refusal *apimgmt.Error
	var list wire.Faults
	if errors.As(e.Err, &list) {
		problem.Detail = []wire.Fault(list)
	} else if errors.As(e.Err, &refusal) {
		problem.Conflicts, problem.SuggestedPath = refusal.Conflicts, refusal.SuggestedPath
	}
	data, err := json.Marshal(problem)
	if err != nil {
		data = []byte(`{"detail":"Internal Server Error"}`)
	}
	w.Header().Del("ETag")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(data) // a client that went away is not an error of this server
}
