package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// lookUp returns the value at a path; nil if it is absent.
func lookUp(values map[string]any, path string) any {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		return values[first]
	}
	inner, _ := values[first].(map[string]any)
	return lookUp(inner, rest)
}

// put sets the value at a path.
func put(values map[string]any, path string, value any) {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		values[first] = value
		return
	}
	put(Object(values, first), rest, value)
}

// Object returns the object that is a member of another one, and creates it if it is absent.
func Object(values map[string]any, name string) map[string]any {
	inner, ok := values[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		values[name] = inner
	}
	return inner
}

// drop removes the value at a path.
func drop(values map[string]any, path string) {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		delete(values, first)
	} else if inner, ok := values[first].(map[string]any); ok {
		drop(inner, rest)
	}
}

// Show has the fields show the values of an object.
func (fields Fields) Show(values map[string]any) {
	fields.Each(func(f *Field) {
		value := lookUp(values, f.path())
		if value == nil {
			value = f.Default
		}
		if f.Kind == Secret && f.Mask != "" && value == f.Mask {
			f.Stored, value = true, ""
		}
		f.Value = f.Kind.Text(value)
	})
}

// Text returns a JSON value as a field of the kind shows it.
func (k Kind) Text(value any) string {
	if value == nil {
		return ""
	}
	switch k {
	case Check:
		switch strings.ToLower(fmt.Sprint(value)) {
		case "true", "yes", "on", "1":
			return "true"
		}
		return ""
	case JSON:
		indented, err := json.MarshalIndent(value, "", "  ")
		if err != nil { // of what was read as JSON, it never is
			return ""
		}
		return string(indented)
	}
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		lines := make([]string, len(v))
		for i, item := range v {
			lines[i] = Text.Text(item)
		}
		switch k {
		case Numbers:
			return strings.Join(lines, " ")
		case Words:
			return strings.Join(lines, ", ")
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		if id, ok := v["id"].(string); ok && k == Reference {
			return id
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for line := range strings.Lines(Text.Text(v[name])) {
				lines = append(lines, name+": "+strings.TrimSuffix(line, "\n"))
			}
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(value)
}

// Read puts what a browser has sent into an object, which has what was there before. It keeps the
// texts in the fields, with what is wrong with them, and reports whether nothing is.
func (fields Fields) Read(form url.Values, values map[string]any) bool {
	fields.Fill(form)
	return fields.Put(values)
}

// Put is Read with the values that the fields have.
func (fields Fields) Put(values map[string]any) bool {
	right := true
	fields.Each(func(f *Field) {
		before, stored := lookUp(values, f.path()), f.Stored
		f.Fault = ""
		value, fault := f.parse()
		switch {
		case fault != "":
			f.Fault, right = fault, false
		case before != nil && f.Kind != Secret && f.Value == f.Kind.Text(before):
			// as it is stored, in whichever form
		case f.Kind == Secret && value == nil && stored:
			put(values, f.path(), f.Mask)
		case value == nil && f.Sparse, f.hasDefault() && before == nil:
			drop(values, f.path())
		default:
			put(values, f.path(), value)
		}
	})
	return right
}

// hasDefault reports whether the field shows the value of a member that is absent.
func (f *Field) hasDefault() bool {
	return f.Sparse && f.Value == f.Kind.Text(f.Default)
}

// parse returns the value of the field, nil if it is empty, or what is wrong with it.
func (f *Field) parse() (value any, fault string) {
	text := strings.TrimSpace(f.Value)
	if f.Kind == Check {
		return text != "", ""
	}
	if text == "" {
		if f.Required {
			return nil, "is required"
		}
		return nil, ""
	}
	switch f.Kind {
	case Number:
		return f.number(text)
	case Scalar:
		return ScalarFrom(text), ""
	case Words:
		var words []any
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
			words = append(words, word)
		}
		return words, ""
	case Numbers:
		var numbers []any
		for _, line := range strings.Fields(text) {
			n, fault := f.number(line)
			if fault != "" {
				return nil, fault
			}
			numbers = append(numbers, n)
		}
		return numbers, ""
	case Lines:
		return lines(f.Value), ""
	case Pairs, Lists:
		return f.named()
	case JSON:
		var parsed any
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			return nil, "is not JSON: " + err.Error()
		}
		return json.RawMessage(text), ""
	case Choice:
		if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == text }) {
			return nil, fmt.Sprintf("%q is not one of the choices", text)
		}
		if f.Whole {
			return json.Number(text), ""
		}
	case Area:
		return f.Value, ""
	case Reference:
		return map[string]any{"id": text}, ""
	}
	return text, ""
}

func (f *Field) number(text string) (value any, fault string) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !json.Valid([]byte(text)) {
		return nil, fmt.Sprintf("%q is not a number", text)
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil && f.Whole {
		return nil, fmt.Sprintf("%q is not a whole number", text)
	}
	low, lowErr := strconv.ParseFloat(f.Low, 64)
	high, highErr := strconv.ParseFloat(f.High, 64)
	if lowErr == nil && highErr == nil && (number < low || number > high) {
		return nil, fmt.Sprintf("%s is not between %s and %s", text, f.Low, f.High)
	}
	return json.Number(text), ""
}

// named reads lines of the form "name: text".
func (f *Field) named() (value any, fault string) {
	texts, all := map[string]any{}, map[string]any{}
	for _, line := range lines(f.Value) {
		name, text, ok := strings.Cut(line.(string), ":")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		if !ok || name == "" {
			return nil, fmt.Sprintf("%q is not of the form NAME: TEXT", line)
		}
		texts[name] = text
		before, _ := all[name].([]any)
		all[name] = append(before, text)
	}
	if f.Kind == Pairs {
		return texts, ""
	}
	return all, ""
}

// lines lists the lines of a text that are not empty.
func lines(text string) []any {
	var all []any
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// ScalarFrom returns a text as the value that it reads as in JSON: a number, a truth value, or the
// text itself.
func ScalarFrom(text string) any {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil && decoder.InputOffset() == int64(len(text)) {
		switch value.(type) {
		case json.Number, bool:
			return value
		}
	}
	return text
}

// Blame puts the faults of an object at the fields of its members, and reports whether a fault has no
// field.
func (fields Fields) Blame(faults map[string]any) (remain bool) { return fields.blame("", faults) }

func (fields Fields) blame(prefix string, faults map[string]any) (remain bool) {
	for name, reason := range faults {
		path := prefix + name
		inner, nested := reason.(map[string]any)
		switch f := fields.At(path); {
		case f != nil && f.path() == path:
			f.Fault = faultText(reason)
		case nested:
			remain = fields.blame(path+".", inner) || remain
		default:
			remain = true
		}
	}
	return remain
}

// Forget removes the secrets that were typed, which no page shows again, and says so in their
// fields. They are required from then on, so that a form without them is not saved by mistake.
func (fields Fields) Forget() {
	fields.Each(func(f *Field) {
		if f.Kind == Secret && f.Value != "" {
			f.Value = ""
			f.Stored = false
			f.Required = true
			f.Placeholder = "not kept; enter it again"
		}
	})
}

func faultText(reason any) string {
	switch r := reason.(type) {
	case string:
		return r
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(r)) {
			parts = append(parts, name+" "+faultText(r[name]))
		}
		return strings.Join(parts, "; ")
	}
	text, err := json.Marshal(reason)
	if err != nil {
		return ""
	}
	return string(text)
}
