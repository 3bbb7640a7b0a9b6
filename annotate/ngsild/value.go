package ngsild

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/rdf"
)

const (
	xsd  = "http://www.w3.org/2001/XMLSchema#"
	core = "https://uri.etsi.org/ngsi-ld/"
	// null deletes what it is the value of (section 4.5.0).
	null = "urn:ngsi-ld:null"
)

// reserved are the names of the core @context that are part of an entity or an attribute
// (Annex B), so that they cannot be attributes themselves.
const reserved = " createdAt datasetId deletedAt entity entityList expiresAt hasJSON hasLanguageMap hasObject hasObjectList hasValue " +
	"hasValueList hasVocab instanceId modifiedAt ngsildproof observedAt previousJson previousLanguageMap previousObject " +
	"previousValue previousVocab scope unitCode "

// check returns an error for a statement with a name that would mean something else.
func check(q rdf.Quad) error {
	for _, t := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
		switch {
		case t.Kind == rdf.IRI && isPrefixed(t.Value):
			return unsayable(q, "%q begins as a name of the core @context does", t.Value)
		case t.Value == null:
			return unsayable(q, "%q stands for no value", null)
		}
	}
	if name, ok := strings.CutPrefix(q.Predicate.Value, core); ok && strings.Contains(reserved, " "+name+" ") {
		return unsayable(q, "%q is reserved", q.Predicate.Value)
	}
	return nil
}

// isPrefixed reports whether an IRI begins with a prefix of the core @context.
func isPrefixed(iri string) bool {
	return strings.HasPrefix(iri, "ngsi-ld:") || strings.HasPrefix(iri, "geojson:")
}

// integers are the datatypes of XML Schema whose values are integers.
var integers = []string{
	"integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger",
	"unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
}

// jsonValue returns a literal without a language as a value of JSON (section 4.6.3).
func jsonValue(t rdf.Term) any {
	name, ok := strings.CutPrefix(t.Datatype, xsd)
	switch {
	case t.Datatype == "":
		return t.Value
	case !ok:
	case name == "boolean" && (t.Value == "true" || t.Value == "1"):
		return true
	case name == "boolean" && (t.Value == "false" || t.Value == "0"):
		return false
	case slices.Contains(integers, name):
		if n, err := strconv.ParseInt(t.Value, 10, 64); err == nil && max(n, -n) <= maxExact && n != math.MinInt64 {
			return n
		}
	case name == "decimal" || name == "double" || name == "float":
		if n, ok := jsonNumber(t.Value); ok {
			return n
		}
	case name == "dateTime":
		if at, ok := jsonDateTime(t.Value); ok {
			return map[string]string{"@type": "DateTime", "@value": at}
		}
	case name == "date":
		if _, err := time.Parse(time.DateOnly, t.Value); err == nil {
			return map[string]string{"@type": "Date", "@value": t.Value}
		}
	}
	return map[string]string{"@type": t.Datatype, "@value": t.Value}
}

// maxExact and maxDigits bound what a number of JSON has in every implementation: a double.
const (
	maxExact  = 1<<53 - 1
	maxDigits = 15
)

var numeral = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// jsonNumber returns a decimal or a double as a number of JSON, if a double has its digits.
func jsonNumber(lexical string) (json.Number, bool) {
	if !numeral.MatchString(lexical) {
		return "", false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(lexical), "e")
	digits := strings.TrimLeft(strings.Replace(strings.TrimLeft(mantissa, "+-"), ".", "", 1), "0")
	n, err := strconv.ParseFloat(lexical, 64)
	if err != nil || len(digits) > maxDigits || (n == 0 && digits != "") {
		return "", false
	}
	text, err := json.Marshal(n)
	return json.Number(text), err == nil
}

// jsonDateTime returns an xsd:dateTime as a DateTime: with a time zone, in UTC, with at most
// six decimals.
func jsonDateTime(lexical string) (string, bool) {
	at, err := time.Parse(time.RFC3339Nano, lexical)
	if err != nil || strings.Contains(lexical, ",") || at.Nanosecond()%1000 != 0 {
		return "", false
	}
	if at = at.UTC(); at.Year() < 0 || at.Year() > 9999 {
		return "", false
	}
	return at.Format("2006-01-02T15:04:05.999999Z"), true
}
