package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/position"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// problem is an error in Kong's form.
type problem struct {
	status  int
	Code    int            `json:"code,omitempty"`
	Name    string         `json:"name,omitempty"`
	Fields  map[string]any `json:"fields,omitempty"`
	Message string         `json:"message"`
}

func (p *problem) Error() string { return p.Message }

// Kong's numbers of errors.
const (
	codeSchema      = 2
	codeForeign     = 4
	codeUnique      = 5
	codeOffset      = 7
	codeSize        = 9
	codeDeclarative = 14
)

func notFound() error { return &problem{status: http.StatusNotFound, Message: "Not found"} }

func badRequest(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// schemaViolation returns the schema violation of one field.
func schemaViolation(name, reason string) error {
	p := &problem{status: http.StatusBadRequest, Code: codeSchema, Name: "schema violation", Fields: map[string]any{}}
	p.violate(name, reason)
	p.Message = fmt.Sprintf("schema violation (%s: %s)", name, reason)
	return p
}

// violate notes what is wrong with a field: "config.minute" is a member of config.
func (p *problem) violate(name, reason string) {
	if at := strings.IndexByte(name, '['); at > 0 {
		name = name[:at]
	}
	fields := p.Fields
	steps := strings.Split(name, ".")
	for _, step := range steps[:len(steps)-1] {
		inner, ok := fields[step].(map[string]any)
		if !ok {
			inner = map[string]any{}
			fields[step] = inner
		}
		fields = inner
	}
	fields[steps[len(steps)-1]] = reason
}

// refused creates an error of Kong's of one of the store's, about the entity that was
// to be written. It returns nil for errors that are not the client's.
func refused(err error, about row) *problem {
	found := fieldErrors(err)
	if len(found) == 0 {
		if errors.Is(err, entity.ErrInvalid) {
			return &problem{status: http.StatusBadRequest, Code: codeSchema, Name: "schema violation",
				Fields: map[string]any{"@entity": []string{err.Error()}}, Message: "schema violation (" + err.Error() + ")"}
		}
		return nil
	}
	first := found[0]
	for _, f := range found {
		switch {
		case errors.Is(f, entity.ErrConflict):
			return &problem{status: http.StatusConflict, Code: codeUnique, Name: "unique constraint violation",
				Fields:  map[string]any{f.Field: conflicting(about, f)},
				Message: fmt.Sprintf("UNIQUE violation detected on '{%s=%q}'", f.Field, conflicting(about, f))}
		case errors.Is(f, entity.ErrReference):
			return foreignViolation(about, f)
		}
	}
	p := &problem{status: http.StatusBadRequest, Code: codeSchema, Name: "schema violation", Fields: map[string]any{}}
	var reasons []string
	for _, f := range found {
		reason := f.Reason
		if about.entity == nil || (f.ID != "" && f.ID != about.meta().ID) {
			reason = fmt.Sprintf("%s %q: %s", f.Kind, f.Name, f.Reason)
		}
		p.violate(f.Field, reason)
		reasons = append(reasons, f.Field+": "+reason)
	}
	p.Message = fmt.Sprintf("schema violation (%s: %s)", first.Field, strings.TrimPrefix(reasons[0], first.Field+": "))
	if len(reasons) > 1 {
		p.Message = fmt.Sprintf("%d schema violations (%s)", len(reasons), strings.Join(reasons, "; "))
	}
	return p
}

// conflicting is the value that another entity has; a key is not repeated.
func conflicting(about row, f *entity.FieldError) string {
	switch f.Field {
	case "name", "username", "target":
		return f.Name
	case "id":
		return f.ID
	}
	if about.entity != nil && f.Field == "custom_id" {
		if consumer, ok := about.entity.(*entity.Consumer); ok {
			return consumer.CustomID
		}
	}
	return f.Reason
}

func foreignViolation(about row, f *entity.FieldError) *problem {
	target := map[string]string{}
	if about.entity != nil {
		if ref := about.ref(entity.Kind(f.Field)); ref != nil && *ref != nil {
			if (*ref).ID != "" {
				target["id"] = (*ref).ID
			} else {
				target["name"] = (*ref).Name
			}
		}
	}
	key, _ := json.Marshal(target) // strings always can
	return &problem{status: http.StatusBadRequest, Code: codeForeign, Name: "foreign key violation",
		Fields:  map[string]any{f.Field: target},
		Message: fmt.Sprintf("the foreign key '%s' does not reference an existing '%ss' entity.", key, f.Field)}
}

// referenced reports that an entity cannot be deleted.
func referenced(by, entity string) error {
	return &problem{status: http.StatusBadRequest, Code: codeForeign, Name: "foreign key violation",
		Fields:  map[string]any{"@referenced_by": by},
		Message: fmt.Sprintf("an existing '%s' entity references this '%s' entity", by, entity)}
}

// fieldErrors lists the errors of fields that an error joins.
func fieldErrors(err error) []*entity.FieldError {
	switch e := err.(type) {
	case nil:
		return nil
	case *entity.FieldError:
		return []*entity.FieldError{e}
	case interface{ Unwrap() []error }:
		var all []*entity.FieldError
		for _, inner := range e.Unwrap() {
			all = append(all, fieldErrors(inner)...)
		}
		return all
	}
	return fieldErrors(errors.Unwrap(err))
}

// undecodable is what is wrong with the text of a request.
func undecodable(err error) error {
	var wrong *position.Error
	if !errors.As(err, &wrong) {
		return badRequest("Cannot parse JSON body")
	}
	reason := wrong.Err.Error()
	if wrong.Pointer == "" {
		return badRequest("Cannot parse JSON body: %s", reason)
	}
	if strings.Contains(reason, "no such field") {
		reason = "unknown field"
	}
	return schemaViolation(strings.ReplaceAll(strings.TrimPrefix(wrong.Pointer, "/"), "/", "."), reason)
}

// classify maps an error that no handler has mapped to an answer.
func classify(err error) *httpapi.Error {
	switch {
	case errors.Is(err, ErrBusy):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The configuration is being changed by others; try again"}
	case errors.Is(err, storage.ErrFull):
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Detail: "The storage is full; try again when there is space", Err: err}
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, gateway.ErrClosed):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The configuration cannot be stored at the moment", Err: err}
	}
	return nil
}

// writeError answers with an error in Kong's form.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	p := &problem{Message: e.Detail}
	if !errors.As(e.Err, &p) && p.Message == "" {
		switch e.Status {
		case http.StatusNotFound:
			p.Message = "Not found"
		case http.StatusMethodNotAllowed:
			p.Message = "Method not allowed"
		case http.StatusInternalServerError:
			p.Message = "An unexpected error occurred"
		default:
			p.Message = http.StatusText(e.Status)
		}
	}
	writeJSON(w, e.Status, p)
}

func writeJSON(w http.ResponseWriter, status int, document any) {
	data, err := json.Marshal(document)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"message":"An unexpected error occurred"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that went away is not an error of this server
}

// asProblem turns the errors of a handler into Kong's form.
func asProblem(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := f(w, r)
		var p *problem
		if errors.As(err, &p) {
			return &httpapi.Error{Status: p.status, Detail: p.Message, Err: p}
		}
		return err
	}
}
