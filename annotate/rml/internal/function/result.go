package function

import (
	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// result is the type of a function's result.
type result int

const (
	// textResult is one text. Functions that return one of their arguments
	// return text, because all arguments are text. So do the functions that
	// normalize dates, whose result is an xsd:string in the descriptions of IDLab.
	textResult result = iota
	// listResult is any number of texts.
	listResult
	integerResult
	numberResult
	booleanResult
	dateResult
)

// datatypes returns the natural datatypes of the result. A number without a
// fraction is an integer, as it is in JSON.
func (r result) datatypes() []string {
	switch r {
	case integerResult:
		return []string{rdf.XSDInteger}
	case numberResult:
		return []string{rdf.XSDInteger, xsd.Namespace + "decimal", rdf.XSDDouble}
	case booleanResult:
		return []string{rdf.XSDBoolean}
	case dateResult:
		return []string{xsd.Namespace + "dateTime", xsd.Namespace + "date"}
	}
	return nil
}
