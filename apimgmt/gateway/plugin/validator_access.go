package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
	"github.com/iotenablers/enablers/apimgmt/position"
)

// invalid describes what is wrong with a request.
type invalid struct {
	where, reason string
}

// Error names the place first.
func (i *invalid) Error() string { return i.where + ": " + i.reason }

// errTooLong means that a body is longer than what is read.
var errTooLong = errors.New("the body is too long to be validated")

func (v *validator) access(x *gateway.Exchange) *gateway.Answer {
	err := v.validate(x)
	var wrong *invalid
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLong):
		return gateway.Refuse(http.StatusRequestEntityTooLarge, err.Error())
	case v.verbose && errors.As(err, &wrong):
		return gateway.Refuse(http.StatusBadRequest, wrong.Error())
	}
	return gateway.Refuse(http.StatusBadRequest, "the request is not as the API says")
}

// validate checks what the service would get.
func (v *validator) validate(x *gateway.Exchange) error {
	up := x.Upstream()
	query, err := url.ParseQuery(up.Query)
	if err != nil {
		return &invalid{"query", "it is malformed"}
	}
	for _, s := range v.scalars {
		values := query[s.name]
		if s.in == openapi3.ParameterInHeader {
			values = up.Header[http.CanonicalHeaderKey(s.name)]
		}
		if len(values) > 1 {
			return &invalid{fmt.Sprintf("%s parameter %q", s.in, s.name), "it is there more than once"}
		}
	}
	request := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: v.route.Path, RawQuery: up.Query},
		Header: up.Header}).WithContext(x.Context())
	input := &openapi3filter.RequestValidationInput{
		Request: request, QueryParams: query, PathParams: v.pathParameters(x), Route: v.route, Options: v.options,
	}
	if err := openapi3filter.ValidateRequest(x.Context(), input); err != nil {
		return describe(err)
	}
	if body := v.route.Operation.RequestBody; body != nil && body.Value != nil {
		return v.body(x, input, body.Value)
	}
	return nil
}

// pathParameters are the groups of the route's expression, without escapes.
func (v *validator) pathParameters(x *gateway.Exchange) map[string]string {
	captured := x.Captures()
	made := map[string]string{}
	for parameter, group := range v.groups {
		if text, ok := captured[group]; ok {
			if plain, err := url.PathUnescape(text); err == nil {
				text = plain
			}
			made[parameter] = text
		}
	}
	return made
}

// body checks the body, which is read if it is of a type that can be checked.
func (v *validator) body(x *gateway.Exchange, input *openapi3filter.RequestValidationInput, declared *openapi3.RequestBody) error {
	up := x.Upstream()
	if up.Length == 0 {
		if declared.Required {
			return &invalid{"body", "it is required"}
		}
		return nil
	}
	kinds := up.Header["Content-Type"]
	if len(kinds) > 1 {
		return &invalid{`header "Content-Type"`, "it is there more than once"}
	}
	kind, _, err := mime.ParseMediaType(strings.Join(kinds, ""))
	content := declared.Content.Get(kind)
	if err != nil || (content == nil && len(declared.Content) > 0) {
		if up.Length < 0 && len(kinds) == 0 && !declared.Required {
			return v.nothing(up)
		}
		return &invalid{`header "Content-Type"`, "the API takes no body of this type"}
	}
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	if content == nil || content.Schema == nil || content.Schema.Value == nil || (!isJSON && (kind != formType || !flat(content.Schema))) {
		return nil
	}
	data, err := v.read(up)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		if declared.Required {
			return &invalid{"body", "it is required"}
		}
		return nil
	}
	if !isJSON {
		return v.checkForm(input, declared, content.Schema.Value, data)
	}
	value, err := parseBody(data)
	if err != nil {
		return err
	}
	if err := content.Schema.Value.VisitJSON(value, openapi3.VisitAsRequest()); err != nil {
		return describe(&openapi3filter.RequestError{RequestBody: declared, Err: err})
	}
	return nil
}

// nothing checks that a body of unknown length and type is empty.
func (v *validator) nothing(up *gateway.Upstream) error {
	data, err := v.read(up)
	if err == nil && len(data) > 0 {
		return &invalid{`header "Content-Type"`, "it is required with a body"}
	}
	return err
}

// read reads the body, and puts it back.
func (v *validator) read(up *gateway.Upstream) ([]byte, error) {
	if up.Length > v.maxBody {
		return nil, errTooLong
	}
	data, err := io.ReadAll(io.LimitReader(up.Body, v.maxBody+1))
	if err != nil {
		return nil, &invalid{"body", "it cannot be read"}
	}
	if int64(len(data)) > v.maxBody {
		return nil, errTooLong
	}
	up.Body, up.Length = bytes.NewReader(data), int64(len(data))
	return data, nil
}

// The bounds of JSON that is validated.
const (
	deepestBody = 100
	mostValues  = 500_000
)

// parseBody reads JSON in which no member is there twice.
func parseBody(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &invalid{"body", "it is not JSON"}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, &invalid{"body", "there is something after the JSON"}
	}
	if first := bytes.TrimLeft(data, " \t\r\n"); first[0] != '{' && first[0] != '[' {
		return value, nil // which has no members
	}
	_, format, err := document.Parse(data, document.Limits{Bytes: len(data), Depth: deepestBody, Values: mostValues})
	var wrong *position.Error
	if errors.As(err, &wrong) {
		return nil, &invalid{"body " + wrong.Pointer, "a member is there twice, or the JSON is too deep"}
	}
	if err != nil || format != document.JSON {
		return nil, &invalid{"body", "it is not JSON"}
	}
	return value, nil
}

// describe turns an error into one that names the place, and does not repeat what
// was sent. It returns nil for nil.
func describe(err error) error {
	if err == nil {
		return nil
	}
	where := "request"
	var request *openapi3filter.RequestError
	if errors.As(err, &request) {
		switch {
		case request.Parameter != nil:
			where = fmt.Sprintf("%s parameter %q", request.Parameter.In, request.Parameter.Name)
		case request.RequestBody != nil:
			where = "body"
		}
	}
	var schema *openapi3.SchemaError
	var parse *openapi3filter.ParseError
	reason := "it is malformed"
	switch {
	case errors.As(err, &schema):
		if pointer := schema.JSONPointer(); len(pointer) > 0 {
			where += " /" + strings.Join(pointer, "/")
		}
		reason = schema.Reason
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		reason = "it is required"
	case errors.Is(err, openapi3filter.ErrInvalidEmptyValue):
		reason = "it is empty"
	case errors.As(err, &parse) && parse.Reason != "":
		reason = parse.Reason
	}
	const longest = 300
	return &invalid{where[:min(len(where), longest)], reason[:min(len(reason), longest)]}
}
