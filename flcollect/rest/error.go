package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// Classify returns the HTTP form of an error of a collector, nil for an unexpected one.
func Classify(err error) *httpapi.Error {
	if e := classifyContext(err); e != nil {
		return e
	}
	status, text := 0, ""
	switch {
	case detail.All(err) != nil:
		status = http.StatusUnprocessableEntity
	case errors.Is(err, flcollect.ErrActive):
		status, text = http.StatusConflict, "The job is being trained with another configuration."
	case errors.Is(err, flcollect.ErrUnknown):
		status, text = http.StatusNotFound, "There is no job of this id."
	case errors.Is(err, flcollect.ErrNoResult):
		status, text = http.StatusNotFound, "The job has no model."
	case errors.Is(err, report.ErrNoReport):
		status, text = http.StatusNotFound, "There is no report of this round."
	case errors.Is(err, flcollect.ErrUndelivered):
		status, text = http.StatusServiceUnavailable, "Earlier results of the job wait for the repository. Please try again."
	case errors.Is(err, flcollect.ErrNotRunning):
		status, text = http.StatusServiceUnavailable, "The server is starting or stopping. Please try again."
	case errors.Is(err, flcollect.ErrRepository):
		status, text = http.StatusServiceUnavailable, "The repository does not answer as it should. Please try again."
	case errors.Is(err, storage.ErrFull):
		status, text = http.StatusInsufficientStorage, "The storage is full. Please try again when there is space."
	case errors.Is(err, storage.ErrUnavailable):
		status, text = http.StatusServiceUnavailable, "The storage cannot be reached. Please try again."
	default:
		return nil
	}
	return &httpapi.Error{Status: status, Detail: text, Err: err}
}

// WriteError answers with an object that has a detail, as FastAPI does: a list for a
// request that is not valid, and otherwise a sentence. Endpoints whose clients expect 200
// or 500 as the body answer with 500 where the error is the server's.
func WriteError(w http.ResponseWriter, req *http.Request, e *httpapi.Error) {
	w.Header().Set("Content-Type", "application/json")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.Status)
	if e.Status >= 500 && answersWithNumber(req) {
		_, _ = io.WriteString(w, "500") // a client that has left is no error of the server
		return
	}
	var what any = e.Text()
	if e.Status == http.StatusUnprocessableEntity && e.Err != nil {
		if list := detail.All(e.Err); list != nil {
			what = list
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": what})
}

// answersWithNumber reports whether the answer of a request's route is 200 or
// 500, as JSON.
func answersWithNumber(req *http.Request) bool {
	_, path, _ := strings.Cut(req.Pattern, " ")
	return strings.HasPrefix(path, "/job/config/") || strings.HasPrefix(path, "/job/stop")
}
