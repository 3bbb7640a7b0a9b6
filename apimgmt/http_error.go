package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// Problem is the body of an error. Detail is a sentence, or a list of [Fault] with
// the status 422.
type Problem struct {
	Detail any `json:"detail"`
	// Conflicts are the routes in common with others, with the status 409.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// SuggestedPath is a value of the parameter path of which it is likely that it has no
	// conflict.
	SuggestedPath string `json:"suggested_path,omitempty"`
}

// Fault is a parameter that is missing or wrong, in the form of FastAPI.
type Fault struct {
	// Loc is the place: "query" and the name of the parameter, for example.
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

// faults is the error of a request whose parameters are wrong.
type faults []Fault

func (f faults) Error() string {
	var list []string
	for _, one := range f {
		list = append(list, strings.Join(one.Loc, ".")+": "+one.Msg)
	}
	return strings.Join(list, "; ")
}

func missing(place, name string) Fault {
	return Fault{Loc: []string{place, name}, Msg: "field required", Type: "value_error.missing"}
}

func wrong(place, name string, err error) Fault {
	return Fault{Loc: []string{place, name}, Msg: err.Error(), Type: "value_error"}
}

// classify decides the status of an error.
func classify(err error) *httpapi.Error {
	var refusal *Error
	var list faults
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
	status := http.StatusInternalServerError
	for _, known := range []struct {
		kind   error
		status int
	}{
		{ErrNotFound, http.StatusNotFound}, {ErrInvalid, http.StatusBadRequest}, {ErrTooLarge, http.StatusRequestEntityTooLarge},
		{ErrConflict, http.StatusConflict}, {ErrState, http.StatusConflict}, {ErrPrecondition, http.StatusPreconditionFailed},
		{ErrGateway, http.StatusBadGateway}, {ErrUnknown, http.StatusServiceUnavailable},
	} {
		if refusal.Kind == known.kind {
			status = known.status
		}
	}
	return &httpapi.Error{Status: status, Detail: refusal.Error(), Err: err}
}

// writeError answers with a Problem.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	problem := Problem{Detail: e.Text()}
	var refusal *Error
	var list faults
	if errors.As(e.Err, &list) {
		problem.Detail = []Fault(list)
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
	_, _ = w.Write(data) // a client that went away is no error of ours
}
