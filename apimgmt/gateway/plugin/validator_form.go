package plugin

import (
	"bytes"
	"fmt"
	"io"
	"net/url"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

const formType = "application/x-www-form-urlencoded"

// flat reports whether a schema is one of forms as they can be read: an object
// whose members are neither objects nor lists of such.
func flat(schema *openapi3.SchemaRef) bool {
	if schema == nil || schema.Value == nil || !schema.Value.Type.Is(openapi3.TypeObject) {
		return false
	}
	for _, member := range schema.Value.Properties {
		if member.Value == nil || member.Value.Type.Is(openapi3.TypeObject) {
			return false
		}
		if !member.Value.Type.Is(openapi3.TypeArray) {
			continue
		}
		items := member.Value.Items
		if items == nil || items.Value == nil || !isPrimitive(items.Value.Type) {
			return false
		}
	}
	return true
}

func isPrimitive(t *openapi3.Types) bool {
	return t.Is(openapi3.TypeString) || t.Is(openapi3.TypeInteger) || t.Is(openapi3.TypeNumber) || t.Is(openapi3.TypeBoolean)
}

// checkForm checks a form. The library takes the first of several values, and passes
// over members that the schema does not have.
func (v *validator) checkForm(input *openapi3filter.RequestValidationInput, declared *openapi3.RequestBody,
	schema *openapi3.Schema, data []byte) error {
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return &invalid{"body", "it is not a form"}
	}
	closed := schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has
	for name, values := range form {
		member := schema.Properties[name]
		if member == nil && closed {
			return &invalid{"body", fmt.Sprintf("a form has no field %q here", name[:min(len(name), 50)])}
		}
		if member != nil && !member.Value.Type.Is(openapi3.TypeArray) && len(values) > 1 {
			return &invalid{"body /" + name, "it is there more than once"}
		}
	}
	input.Request.Body = io.NopCloser(bytes.NewReader(data))
	return describe(openapi3filter.ValidateRequestBody(input.Request.Context(), input, declared))
}
