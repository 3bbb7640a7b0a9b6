// Package wire has what the REST interface of a publisher, its client and the portal share:
// addresses, fields, and the form and the status of an error.
package wire

import (
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt"
)

// Library is the path of the library.
const Library = "/OpenAPIDocumentation"

// FileField is the form field with the definition.
const FileField = "upload_file"

// Problem is the body of an error. Detail is a sentence, or a list of [Fault] with
// the status 422.
type Problem struct {
	Detail any `json:"detail"`
	// Conflicts are the routes in common with others, with the status 409.
	Conflicts []apimgmt.Conflict `json:"conflicts,omitempty"`
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

// Faults is the error of a request whose parameters are wrong.
type Faults []Fault

// Error joins the faults.
func (f Faults) Error() string {
	var list []string
	for _, one := range f {
		list = append(list, strings.Join(one.Loc, ".")+": "+one.Msg)
	}
	return strings.Join(list, "; ")
}

// Status returns the HTTP status of an [apimgmt.Error] by its kind.
func Status(kind error) int {
	switch kind {
	case apimgmt.ErrNotFound:
		return http.StatusNotFound
	case apimgmt.ErrInvalid:
		return http.StatusBadRequest
	case apimgmt.ErrTooLarge:
		return http.StatusRequestEntityTooLarge
	case apimgmt.ErrConflict, apimgmt.ErrState:
		return http.StatusConflict
	case apimgmt.ErrPrecondition:
		return http.StatusPreconditionFailed
	case apimgmt.ErrGateway:
		return http.StatusBadGateway
	case apimgmt.ErrUnknown:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
