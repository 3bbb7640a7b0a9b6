package repository

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Fault is a fault of one field of a record.
type Fault struct {
	// Loc is its place: names of members and indices of lists, from the outermost.
	Loc []any `json:"loc"`
	// Msg says what is wrong.
	Msg string `json:"msg"`
	// Type is a short name of the same, for programs.
	Type string `json:"type"`
}

// faults collects the faults of a document.
type faults []Fault

func (f *faults) add(at []any, kind, msg string) {
	*f = append(*f, Fault{Loc: slices.Clone(at), Msg: msg, Type: kind})
}

func (f *faults) missing(at []any) { f.add(at, "value_error.missing", "field required") }

// form reads a value of a JSON document, decoded with numbers as json.Number, and
// returns the value to store.
type form func(value any, at []any, f *faults) any

// field is a member of a record.
type field struct {
	name      string
	form      form
	required  bool
	otherwise any  // the value of an optional member that is not there
	sparse    bool // whether a record without the member has none, instead of that value
}

// object is the form of a JSON object with known members. Others are left out.
func object(fields ...field) form {
	return func(value any, at []any, f *faults) any {
		members, ok := value.(map[string]any)
		if !ok {
			f.add(at, "type_error.dict", "value is not a valid dict")
			return nil
		}
		record := make(record, 0, len(fields))
		for _, field := range fields {
			here := append(slices.Clip(at), any(field.name))
			value, has := members[field.name]
			kept := field.otherwise
			switch {
			case has && (value != nil || field.required):
				kept = field.form(value, here, f)
			case field.required:
				f.missing(here)
			case field.sparse:
				continue
			}
			record.set(field.name, kept)
		}
		return record
	}
}

// text is the form of a text, which may be given as a number or a truth value.
func text(value any, at []any, f *faults) any {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return numberText(v)
	case bool:
		return truthText(v)
	case nil:
		f.add(at, "type_error.none.not_allowed", "none is not an allowed value")
	default:
		f.add(at, "type_error.str", "str type expected")
	}
	return nil
}

// name is the form of a text that identifies a record.
func name(value any, at []any, f *faults) any {
	kept, _ := text(value, at, f).(string)
	switch {
	case value == "":
		f.add(at, "value_error.any_str.min_length", "ensure this value has at least 1 characters")
	case kept == slash:
		f.add(at, "value_error", "a slash alone cannot be a name, since no path can hold it")
	case len(kept) > MaxName:
		f.add(at, "value_error.any_str.max_length", fmt.Sprintf("ensure this value has at most %d bytes", MaxName))
	}
	return kept
}

// digits is the text of a number, which may be given as a text.
func digits(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// integer is the form of a whole number, which may be given as a text.
func integer(value any, at []any, f *faults) any {
	given := digits(value)
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		if whole, err := strconv.ParseFloat(given, 64); err == nil && whole == math.Trunc(whole) && math.Abs(whole) < 1<<53 {
			return int64(whole)
		}
		f.add(at, "type_error.integer", "value is not a valid integer")
	}
	return n
}

// number is the form of a number, which may be given as a text.
func number(value any, at []any, f *faults) any {
	given := digits(value)
	n, err := strconv.ParseFloat(given, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		f.add(at, "type_error.float", "value is not a valid float")
		return nil
	}
	return json.Number(floatText(n))
}

// truth is the form of a truth value, which may be given as a word.
func truth(value any, at []any, f *faults) any {
	switch v := value.(type) {
	case bool:
		return v
	case json.Number:
		value = v.String()
	}
	if word, ok := value.(string); ok {
		switch strings.ToLower(word) {
		case "true", "t", "yes", "y", "on", "1":
			return true
		case "false", "f", "no", "n", "off", "0":
			return false
		}
	}
	f.add(at, "type_error.bool", "value could not be parsed to a boolean")
	return nil
}

// anything is the form of any value.
func anything(value any, _ []any, _ *faults) any { return value }

// mapping is the form of an object with members of any name.
func mapping(each form) form {
	return func(value any, at []any, f *faults) any {
		members, ok := value.(map[string]any)
		if !ok {
			f.add(at, "type_error.dict", "value is not a valid dict")
			return nil
		}
		kept := make(map[string]any, len(members))
		for _, name := range slices.Sorted(maps.Keys(members)) { // faults are in order
			kept[name] = each(members[name], append(slices.Clip(at), any(name)), f)
		}
		return kept
	}
}

// list is the form of a list.
func list(each form) form {
	return func(value any, at []any, f *faults) any {
		items, ok := value.([]any)
		if !ok {
			f.add(at, "type_error.list", "value is not a valid list")
			return nil
		}
		kept := make([]any, len(items))
		for i, item := range items {
			kept[i] = each(item, append(slices.Clip(at), any(i)), f)
		}
		return kept
	}
}
