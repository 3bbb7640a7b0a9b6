package relational

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rml"
)

// value writes what a driver returns for a column into the text of the row.
type value struct {
	column
	rows       *rows
	start, end int
	is         rml.ValueKind
}

// Scan implements sql.Scanner.
func (v *value) Scan(src any) error {
	v.start = len(v.rows.text)
	v.is = v.kind
	switch x := src.(type) {
	case nil:
		v.is = rml.NullValue
	case int64:
		v.integer(strconv.AppendInt(nil, x, 10), x != 0)
	case uint64:
		v.integer(strconv.AppendUint(nil, x, 10), x != 0)
	case float64:
		bits := 64
		if t := strings.ToUpper(v.sqlType); t == "FLOAT4" { // the driver widens them
			bits = 32
		}
		v.float(x, bits)
	case float32:
		v.float(float64(x), 32)
	case bool:
		v.is = rml.BooleanValue
		v.rows.text = strconv.AppendBool(v.rows.text, x)
	case time.Time:
		v.time(x)
	case string:
		v.textual([]byte(x))
	case []byte:
		if v.kind == rml.BinaryValue || v.sqlType == "" { // SQLite does not say what the bytes of an expression are
			v.binary(x)
			break
		}
		v.textual(x)
	default:
		return fmt.Errorf("column %s: values of the type %T cannot be read: cast them to text in a query", v.label, src)
	}
	v.end = len(v.rows.text)
	return nil
}

func (v *value) integer(digits []byte, set bool) {
	switch v.kind {
	case rml.BooleanValue:
		v.rows.text = strconv.AppendBool(v.rows.text, set)
	case rml.DoubleValue:
		v.rows.text = xsd.AppendDouble(v.rows.text, digits)
	case rml.DecimalValue:
		v.rows.text = append(v.rows.text, digits...)
	default:
		v.is = rml.IntegerValue
		v.rows.text = append(v.rows.text, digits...)
	}
}

func (v *value) float(x float64, bits int) {
	if v.kind == rml.DecimalValue {
		v.rows.text = strconv.AppendFloat(v.rows.text, x, 'f', -1, bits)
		return
	}
	v.is = rml.DoubleValue
	v.rows.text = xsd.AppendDouble(v.rows.text, strconv.AppendFloat(nil, x, 'E', -1, bits))
}

func (v *value) time(x time.Time) {
	layout := "2006-01-02T15:04:05.999999999"
	switch v.kind {
	case rml.DateValue:
		layout = time.DateOnly
	case rml.TimeValue:
		layout = "15:04:05.999999999"
	default:
		v.is = rml.DateTimeValue
	}
	if strings.HasSuffix(strings.ToUpper(v.sqlType), "TZ") {
		layout += "Z07:00"
	}
	v.rows.text = x.AppendFormat(v.rows.text, layout)
}

func (v *value) binary(x []byte) {
	v.is = rml.BinaryValue
	start := len(v.rows.text)
	v.rows.text = hex.AppendEncode(v.rows.text, x)
	for i, b := range v.rows.text[start:] {
		if b >= 'a' {
			v.rows.text[start+i] = b - 'a' + 'A'
		}
	}
}

// textual writes a value that the driver returns as text.
func (v *value) textual(x []byte) {
	switch v.kind {
	case rml.DoubleValue:
		if _, err := strconv.ParseFloat(string(x), 64); err != nil {
			v.is = rml.StringValue // SQLite has text in columns of any type
			break
		}
		v.rows.text = xsd.AppendDouble(v.rows.text, x)
		return
	case rml.IntegerValue:
		if _, err := strconv.ParseFloat(string(x), 64); err != nil {
			v.is = rml.StringValue
		}
	case rml.BooleanValue:
		if set, err := strconv.ParseBool(string(x)); err == nil {
			v.rows.text = strconv.AppendBool(v.rows.text, set)
			return
		}
		v.is = rml.StringValue
	case rml.DateTimeValue:
		start := len(v.rows.text)
		v.rows.text = append(v.rows.text, x...)
		if len(x) > len(time.DateOnly) && x[len(time.DateOnly)] == ' ' {
			v.rows.text[start+len(time.DateOnly)] = 'T'
		}
		return
	case rml.BinaryValue:
		v.binary(x)
		return
	}
	v.rows.text = append(v.rows.text, x...)
}
