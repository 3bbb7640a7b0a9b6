package definition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// The forms of values, as a table has them: a word is one of the basic forms below or
// an object of the table, "[]" begins a list, "{}" an object whose keys are names, and
// "|" stands between alternatives.
const (
	textForm   = "string"
	flagForm   = "flag"
	numberForm = "number"
	countForm  = "count"
	anyForm    = "any"

	listPrefix = "[]"
	mapPrefix  = "{}"
)

// objectForms are the fields of the objects of OpenAPI 3.0 and 3.1 (section 4.8 of
// either), by the names that messages call the objects. Fields that are not listed, such
// as extensions, may be anything. "*" are all keys that are not extensions.
var objectForms = parseForms(map[string]string{
	"document": `openapi:string info:info servers:[]server paths:paths webhooks:{}path-item components:components
		security:[]security-requirement tags:[]tag externalDocs:external-documentation jsonSchemaDialect:string`,
	"info": `title:string summary:string description:string termsOfService:string contact:contact license:license
		version:string`,
	"contact":         `name:string url:string email:string`,
	"license":         `name:string identifier:string url:string`,
	"server":          `url:string description:string variables:{}server-variable`,
	"server-variable": `enum:[]string default:string description:string`,
	"components": `schemas:{}schema responses:{}response parameters:{}parameter examples:{}example
		requestBodies:{}request-body headers:{}header securitySchemes:{}security-scheme links:{}link
		callbacks:{}callback pathItems:{}path-item`,
	"paths": `*:path-item`,
	"path-item": `$ref:string summary:string description:string get:operation put:operation post:operation
		delete:operation options:operation head:operation patch:operation trace:operation servers:[]server
		parameters:[]parameter`,
	"operation": `tags:[]string summary:string description:string externalDocs:external-documentation
		operationId:string parameters:[]parameter requestBody:request-body responses:responses callbacks:{}callback
		deprecated:flag security:[]security-requirement servers:[]server`,
	"external-documentation": `description:string url:string`,
	"parameter": `name:string in:string description:string required:flag deprecated:flag allowEmptyValue:flag
		style:string explode:flag allowReserved:flag schema:schema example:any examples:{}example
		content:{}media-type`,
	"request-body": `description:string content:{}media-type required:flag`,
	"media-type":   `schema:schema example:any examples:{}example encoding:{}encoding`,
	"encoding":     `contentType:string headers:{}header style:string explode:flag allowReserved:flag`,
	"responses":    `*:response`,
	"response":     `description:string headers:{}header content:{}media-type links:{}link`,
	"callback":     `*:path-item`,
	"example":      `summary:string description:string value:any externalValue:string`,
	"link": `operationRef:string operationId:string parameters:{}any requestBody:any description:string
		server:server`,
	"header": `description:string required:flag deprecated:flag allowEmptyValue:flag style:string explode:flag
		allowReserved:flag schema:schema example:any examples:{}example content:{}media-type`,
	"tag": `name:string description:string externalDocs:external-documentation`,
	"schema": `oneOf:[]schema anyOf:[]schema allOf:[]schema not:schema type:string|[]string title:string
		format:string description:string enum:[]any default:any example:any externalDocs:external-documentation
		uniqueItems:flag exclusiveMinimum:number|flag exclusiveMaximum:number|flag nullable:flag readOnly:flag
		writeOnly:flag allowEmptyValue:flag deprecated:flag xml:XML minimum:number maximum:number multipleOf:number
		minLength:count maxLength:count pattern:string minItems:count maxItems:count items:schema
		required:[]string properties:{}schema minProperties:count maxProperties:count additionalProperties:schema
		discriminator:discriminator const:any examples:[]any prefixItems:[]schema contains:schema
		minContains:count maxContains:count patternProperties:{}schema dependentSchemas:{}schema
		propertyNames:schema unevaluatedItems:schema unevaluatedProperties:schema if:schema then:schema
		else:schema dependentRequired:{}[]string $defs:{}schema $schema:string $comment:string $id:string
		$anchor:string $dynamicRef:string $dynamicAnchor:string contentMediaType:string contentEncoding:string
		contentSchema:schema`,
	"discriminator": `propertyName:string mapping:{}string`,
	"XML":           `name:string namespace:string prefix:string attribute:flag wrapped:flag`,
	"security-scheme": `type:string description:string name:string in:string scheme:string bearerFormat:string
		flows:OAuth-flows openIdConnectUrl:string`,
	"OAuth-flows": `implicit:OAuth-flow password:OAuth-flow clientCredentials:OAuth-flow
		authorizationCode:OAuth-flow`,
	"OAuth-flow":           `authorizationUrl:string tokenUrl:string refreshUrl:string scopes:{}string`,
	"security-requirement": `*:[]string`,
})

// referable are the objects in whose place a reference may stand.
var referable = []string{"callback", "example", "header", "link", "parameter", "request-body", "response", "schema",
	"security-scheme"}

// referenceFields are what a reference may have beside its "$ref".
var referenceFields = map[string]string{"$ref": textForm, "summary": textForm, "description": textForm}

func parseForms(table map[string]string) map[string]map[string]string {
	made := make(map[string]map[string]string, len(table))
	for name, line := range table {
		made[name] = map[string]string{}
		for _, field := range strings.Fields(line) {
			key, form, _ := strings.Cut(field, ":")
			made[name][key] = form
		}
	}
	return made
}

// forms finds values of another form than their field has. It notes the example
// objects without a value.
func (c *checker) forms(n *document.Node, form string) {
	if n.Kind == document.Null {
		return
	}
	for alternative := range strings.SplitSeq(form, "|") {
		if hasForm(n, alternative) {
			c.formsWithin(n, alternative)
			return
		}
	}
	c.fail(n.Errorf("%s: is %s, must be %s", fieldName(n), nodeKind(n), formWords(form)))
}

func (c *checker) formsWithin(n *document.Node, form string) {
	if of, ok := strings.CutPrefix(form, listPrefix); ok {
		for _, item := range n.Items {
			c.forms(item, of)
		}
		return
	}
	if of, ok := strings.CutPrefix(form, mapPrefix); ok {
		for _, member := range n.Members {
			c.forms(member.Value, of)
		}
		return
	}
	fields := objectForms[form]
	if ref := n.Get("$ref"); ref != nil && slices.Contains(referable, form) {
		for key, form := range referenceFields {
			if value := n.Get(key); value != nil {
				c.forms(value, form)
			}
		}
		if form != "schema" || !is31(c.root) { // whose fields beside a reference apply
			return
		}
	} else if form == "example" && isNull(n.Get("value")) && isNull(n.Get("externalValue")) {
		c.bare = append(c.bare, n.Pointer())
	}
	for _, member := range n.Members {
		form, known := fields[member.Key]
		if !known && !strings.HasPrefix(member.Key, "x-") {
			form, known = fields["*"]
		}
		if known {
			c.forms(member.Value, form)
		}
	}
}

// is31 reports whether the file is of OpenAPI 3.1.
func is31(root *document.Node) bool { return strings.HasPrefix(text(root.Get("openapi")), "3.1") }

func isNull(n *document.Node) bool { return n == nil || n.Kind == document.Null }

// hasForm reports whether a value has a form, whatever is in it.
func hasForm(n *document.Node, form string) bool {
	switch {
	case form == anyForm:
		return true
	case form == textForm:
		return n.Kind == document.String
	case form == flagForm:
		return n.Kind == document.Bool
	case form == numberForm:
		return isNumber(n)
	case form == countForm:
		_, err := strconv.ParseUint(n.Text, 10, 64)
		return n.Kind == document.Number && err == nil
	case form == "schema" && n.Kind == document.Bool:
		return true
	case strings.HasPrefix(form, listPrefix):
		return n.Kind == document.Array
	}
	return n.Kind == document.Object
}

func isNumber(n *document.Node) bool {
	_, err := strconv.ParseFloat(n.Text, 64)
	return n.Kind == document.Number && err == nil
}

// fieldName is a field as its author calls it: "servers", or "servers[0]" for what is in
// the list.
func fieldName(n *document.Node) string {
	if parent := n.Parent(); parent != nil && parent.Kind == document.Array {
		return fieldName(parent) + "[" + n.Key() + "]"
	}
	return shown(n.Key())
}

// nodeKind is what a value is, in words.
func nodeKind(n *document.Node) string {
	switch n.Kind {
	case document.Array:
		return "a list"
	case document.Bool, document.Number:
		return shown(n.Text)
	}
	return n.Kind.String()
}

// formWords is a form in words.
func formWords(form string) string {
	var words []string
	for alternative := range strings.SplitSeq(form, "|") {
		of, isList := strings.CutPrefix(alternative, listPrefix)
		if of, isMap := strings.CutPrefix(alternative, mapPrefix); isMap {
			words = append(words, "an object with "+pluralForm(of)+" by name")
			continue
		}
		switch {
		case isList:
			words = append(words, "a list of "+pluralForm(of))
		case alternative == textForm:
			words = append(words, "a string")
		case alternative == flagForm:
			words = append(words, "true or false")
		case alternative == numberForm:
			words = append(words, "a number")
		case alternative == countForm:
			words = append(words, "a whole number, 0 or more")
		default:
			words = append(words, fmt.Sprintf("an object (%s)", strings.ReplaceAll(alternative, "-", " ")))
		}
	}
	return strings.Join(words, " or ")
}

func pluralForm(form string) string {
	if form == anyForm {
		return "values"
	}
	if of, ok := strings.CutPrefix(form, listPrefix); ok {
		return "lists of " + pluralForm(of)
	}
	noun := strings.ReplaceAll(form, "-", " ")
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !unicode.IsUpper(rune(noun[0])) {
		return stem + "ies"
	}
	return noun + "s"
}
