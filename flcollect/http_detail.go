package flcollect

import (
	"errors"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// detail is a fault of a request in the form of pydantic 1 and FastAPI, which existing
// clients read.
type detail struct {
	// Loc is the place: "body", "path" or "query", then names of members and indices of
	// list elements; for a body that is not JSON the number of the character.
	Loc []any `json:"loc"`
	// Msg is a sentence for people.
	Msg string `json:"msg"`
	// Type is a code for programs, such as "value_error.missing".
	Type string `json:"type"`
}

// detailError is the error of a request that is answered with details.
type detailError []detail

// Error implements error.
func (e detailError) Error() string { return "invalid request: " + e[0].Msg }

// invalid returns the error of one value of a request.
func invalid(msg string, loc ...any) error {
	return detailError{{Loc: loc, Msg: msg, Type: "value_error"}}
}

// detailsOf returns the details of an error of a configuration, nil for other errors.
func detailsOf(err error) []detail {
	var request detailError
	var config *JobConfigError
	if errors.As(err, &request) {
		return request
	}
	if errors.As(err, &config) {
		details := make([]detail, len(config.Faults))
		for i, fault := range config.Faults {
			details[i] = detailOf(fault)
		}
		return details
	}
	d := detail{Loc: []any{"body"}, Msg: err.Error(), Type: "value_error"}
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
	case errors.Is(err, ErrNoStrategy):
		d.Loc, d.Msg = []any{"body", "strategy"}, "there is no strategy of this name"
	case errors.Is(err, ErrInvalid):
	default:
		return nil
	}
	return []detail{d}
}

// detailOf returns a fault of a configuration as pydantic reports it.
func detailOf(fault JobConfigFault) detail {
	d := detail{Loc: slices.Insert(slices.Clone(fault.Path), 0, any("body")), Msg: fault.Reason}
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
