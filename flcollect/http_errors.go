package flcollect

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// classify decides the status of an error of the server.
func classify(err error) *httpapi.Error {
	if e := classifyContext(err); e != nil {
		return e
	}
	status, detail := 0, ""
	var config *ConfigError
	switch {
	case errors.As(err, &config):
		status = http.StatusUnprocessableEntity
	case faultOf(err) != nil:
		status, err = http.StatusUnprocessableEntity, faultOf(err)
	case errors.Is(err, ErrActive):
		status, detail = http.StatusConflict, "The job is being trained with another configuration."
	case errors.Is(err, ErrNoResult):
		status, detail = http.StatusNotFound, "The job has no model."
	case errors.Is(err, ErrNoReport):
		status, detail = http.StatusNotFound, "There is no report of this round."
	case errors.Is(err, ErrUndelivered):
		status, detail = http.StatusServiceUnavailable, "Earlier results of the job wait for the repository. Please try again."
	case errors.Is(err, ErrNotRunning):
		status, detail = http.StatusServiceUnavailable, "The server is starting or stopping. Please try again."
	case errors.Is(err, errRepository):
		status, detail = http.StatusServiceUnavailable, "The repository does not answer as it should. Please try again."
	case errors.Is(err, storage.ErrUnavailable):
		status, detail = http.StatusServiceUnavailable, "The storage cannot be reached. Please try again."
	default:
		return nil
	}
	return &httpapi.Error{Status: status, Detail: detail, Err: err}
}

// faultOf returns what the server has against a configuration as the parser
// would have told it; nil if the error is another one.
func faultOf(err error) error {
	detail := Detail{Loc: []any{"body"}, Msg: err.Error(), Type: "value_error"}
	var parameter *strategy.FieldError
	var encryption *ckks.FieldError
	switch {
	case errors.As(err, &encryption):
		detail.Loc, detail.Msg = []any{"body", "privacy-mechanisms", homomorphic, encryption.Field}, encryption.Reason
	case errors.As(err, &parameter) && parameter.Strategy == dp.Mechanism:
		detail.Loc, detail.Msg = []any{"body", "privacy-mechanisms", dp.Mechanism, parameter.Field}, parameter.Reason
	case errors.As(err, &parameter) && parameter.Field != "strategy":
		detail.Loc, detail.Msg = []any{"body", "strategy_conf", parameter.Field}, parameter.Reason
	case errors.As(err, &parameter):
		detail.Loc, detail.Msg = []any{"body", "strategy"}, parameter.Reason
	case errors.Is(err, ErrNoStrategy):
		detail.Loc, detail.Msg = []any{"body", "strategy"}, "there is no strategy of this name"
	case errors.Is(err, ErrInvalid):
	default:
		return nil
	}
	return &ConfigError{Details: []Detail{detail}}
}

// writeError answers with an object that has a detail, as FastAPI does: a list
// for a body that is not accepted, and otherwise a sentence. The endpoints whose
// clients know only two answers say that an error is the server's with the
// other of these.
func writeError(w http.ResponseWriter, req *http.Request, e *httpapi.Error) {
	w.Header().Set("Content-Type", "application/json")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.Status)
	if e.Status >= 500 && answersWithNumber(req) {
		_, _ = io.WriteString(w, "500") // a client that went away is no error of ours
		return
	}
	var detail any = e.Text()
	var config *ConfigError
	if errors.As(e.Err, &config) {
		detail = config.Details
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": detail})
}

// answersWithNumber reports whether the answer of a request's route is 200 or
// 500, as JSON.
func answersWithNumber(req *http.Request) bool {
	_, path, _ := strings.Cut(req.Pattern, " ")
	return strings.HasPrefix(path, "/job/config/") || strings.HasPrefix(path, "/job/stop")
}
