package detail

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Detail is a fault of a request.
type Detail struct {
	// Loc is the place: "body", "path" or "query", then names of members and indices of
	// list elements; for a body that is not JSON the number of the character.
	Loc []any `json:"loc"`
	// Msg is a sentence for people.
	Msg string `json:"msg"`
	// Type is a code for programs, such as "value_error.missing".
	Type string `json:"type"`
}

// Error is the error of a request that is answered with details.
type Error []Detail

// Error implements error.
func (e Error) Error() string { return "invalid request: " + e[0].Msg }

// Invalid returns the error of one value of a request.
func Invalid(msg string, loc ...any) error {
	return Error{{Loc: loc, Msg: msg, Type: "value_error"}}
}

// CheckID returns nil if an id is one that a job can have.
func CheckID(id string, loc ...any) error {
	if err := jobconfig.CheckID(id); err != nil {
		return Invalid(err.Error(), loc...)
	}
	return nil
}

// QueryID reads an id, or a prefix of one, of a query. It is empty if there is none.
func QueryID(query url.Values, name string) (string, error) {
	id := query.Get(name)
	if id == "" {
		return "", nil
	}
	return id, CheckID(id, "query", name)
}

// All returns the details of an error of a request or of a configuration, nil for other errors.
func All(err error) []Detail {
	var request Error
	var config *jobconfig.Error
	if errors.As(err, &request) {
		return request
	}
	if errors.As(err, &config) {
		details := make([]Detail, len(config.Faults))
		for i, fault := range config.Faults {
			details[i] = New(fault)
		}
		return details
	}
	d := Detail{Loc: []any{"body"}, Msg: err.Error(), Type: "value_error"}
	var parameter *strategy.FieldError
	var encryption *ckks.FieldError
	var masking *secagg.FieldError
	switch {
	case errors.As(err, &masking) && masking.Field == "":
		d.Loc, d.Msg = []any{"body", "privacy-mechanisms", jobconfig.SecAgg}, masking.Reason
	case errors.As(err, &masking):
		d.Loc, d.Msg = []any{"body", "privacy-mechanisms", jobconfig.SecAgg, masking.Field}, masking.Reason
	case errors.As(err, &encryption):
		d.Loc, d.Msg = []any{"body", "privacy-mechanisms", jobconfig.Homomorphic, encryption.Field}, encryption.Reason
	case errors.As(err, &parameter) && parameter.Strategy == dp.Mechanism:
		d.Loc, d.Msg = []any{"body", "privacy-mechanisms", dp.Mechanism, parameter.Field}, parameter.Reason
	case errors.As(err, &parameter) && parameter.Field != "strategy":
		d.Loc, d.Msg = []any{"body", "strategy_conf", parameter.Field}, parameter.Reason
	case errors.As(err, &parameter):
		d.Loc, d.Msg = []any{"body", "strategy"}, parameter.Reason
	case errors.Is(err, flcollect.ErrNoStrategy):
		d.Loc, d.Msg = []any{"body", "strategy"}, "there is no strategy of this name"
	case errors.Is(err, jobconfig.ErrInvalid):
	default:
		return nil
	}
	return []Detail{d}
}

// New returns a fault of a configuration as pydantic reports it.
func New(fault jobconfig.Fault) Detail {
	d := Detail{Loc: slices.Insert(slices.Clone(fault.Path), 0, any("body")), Msg: fault.Reason}
	if fault.Kind == jobconfig.Malformed {
		d.Loc = append(d.Loc, fault.Offset)
	}
	code := pydantic[fault.Kind]
	d.Type = code.kind
	if d.Msg == "" {
		d.Msg = strings.ReplaceAll(code.msg, "%", fault.Bound)
	}
	return d
}

// pydantic has the codes and messages of pydantic 1 for the kinds of faults; % is the
// bound. Kinds without a message have a reason.
var pydantic = map[jobconfig.Kind]struct{ kind, msg string }{
	jobconfig.Missing:        {"value_error.missing", "field required"},
	jobconfig.Null:           {"type_error.none.not_allowed", "none is not an allowed value"},
	jobconfig.NotObject:      {"type_error.dict", "value is not a valid dict"},
	jobconfig.NotList:        {"type_error.list", "value is not a valid list"},
	jobconfig.NotText:        {"type_error.str", "str type expected"},
	jobconfig.NotInteger:     {"type_error.integer", "value is not a valid integer"},
	jobconfig.NotNumber:      {"type_error.float", "value is not a valid float"},
	jobconfig.NotBool:        {"type_error.bool", "value could not be parsed to a boolean"},
	jobconfig.NotScalar:      {"type_error", "a number, a truth value or text is expected"},
	jobconfig.TooSmall:       {"value_error.number.not_ge", "ensure this value is greater than or equal to %"},
	jobconfig.TooGreat:       {"value_error.number.not_le", "ensure this value is less than or equal to %"},
	jobconfig.TooShort:       {"value_error.any_str.min_length", "ensure this value has at least % characters"},
	jobconfig.TooLong:        {"value_error.any_str.max_length", "ensure this value has at most % characters"},
	jobconfig.TooFewItems:    {"value_error.list.min_items", "ensure this value has at least % items"},
	jobconfig.TooManyItems:   {"value_error.list.max_items", "ensure this value has at most % items"},
	jobconfig.TooManyMembers: {"value_error.dict.max_items", "ensure this value has at most % members"},
	jobconfig.Malformed:      {"value_error.jsondecode", ""},
	jobconfig.Unknown:        {"value_error.unknown", ""},
	jobconfig.Invalid:        {"value_error", ""},
}
