package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// inputType is what a field of a form looks like, and how it is read.
type inputType string

// The types of inputs.
const (
	textInput   inputType = "text"
	numberInput inputType = "number"
	secretInput inputType = "secret"  // shown as nothing; empty leaves what is stored
	checkInput  inputType = "check"   // its value is "true" or nothing
	choiceInput inputType = "choice"  // one of its options
	refInput    inputType = "ref"     // another entity: a choice, or a text if there are many
	linesInput  inputType = "lines"   // a list of texts
	digitsInput inputType = "digits"  // a list of numbers, with spaces in between
	fieldsInput inputType = "headers" // a list of texts for each name: "name: text" in a line
	pairsInput  inputType = "pairs"   // a text for each name, likewise
	jsonInput   inputType = "json"    // anything
	groupInput  inputType = "group"   // further inputs
)

// input is a field of a form.
type input struct {
	// Name is the path of the value in the JSON of the entity, such as config.minute.
	Name, Label, Hint string
	Type              inputType
	// Options are those of a choice.
	Options []option
	// Value is what the field shows.
	Value string
	// Fault is what is wrong with it.
	Fault    string
	Required bool
	// More says that few people need the field.
	More bool
	// Stored says that a secret is stored.
	Stored bool
	// Fields are those of a group.
	Fields []input

	// fallback is the value without one. A field that has it is only written if it was.
	fallback  any
	sparse    bool // whether an empty field is left out, rather than null
	whole     bool // of a number, also of one to choose
	low, high json.Number
}

// option is one of a choice.
type option struct{ Value, Label string }

func options(values ...string) []option {
	made := make([]option, len(values))
	for i, v := range values {
		made[i] = option{v, v}
	}
	return made
}

// each calls f with every input that has a value, those of groups included.
func each(inputs []input, f func(*input)) {
	for i := range inputs {
		if inputs[i].Type == groupInput {
			each(inputs[i].Fields, f)
			continue
		}
		f(&inputs[i])
	}
}

// HasFault reports whether something is wrong with a field or with one of its group.
func (f input) HasFault() bool {
	return f.Fault != "" || slices.ContainsFunc(f.Fields, input.HasFault)
}

// IsLong reports whether the value has several lines, which a browser would take out of a
// field of one.
func (f input) IsLong() bool { return f.Type == textInput && strings.Contains(f.Value, "\n") }

// lookUp returns the value at a path, nil if there is none.
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
	inner, ok := values[first].(map[string]any)
	if !ok {
		inner = map[string]any{}
		values[first] = inner
	}
	put(inner, rest, value)
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

// show has the fields of a form show values.
func show(inputs []input, values map[string]any) {
	each(inputs, func(f *input) {
		value := lookUp(values, f.Name)
		if value == nil {
			value = f.fallback
		}
		if f.Type == secretInput && value == entity.Redaction {
			f.Stored, value = true, ""
		}
		f.Value = shownValue(f.Type, value)
	})
}

// shownValue is a value as the field of a form shows it.
func shownValue(of inputType, value any) string {
	if value == nil {
		return ""
	}
	switch of {
	case checkInput:
		switch strings.ToLower(fmt.Sprint(value)) {
		case "true", "yes", "on", "1":
			return "true"
		}
		return ""
	case jsonInput:
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
			lines[i] = shownValue(textInput, item)
		}
		if of == digitsInput {
			return strings.Join(lines, " ")
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		if id, ok := v["id"].(string); ok && of == refInput {
			return id
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for line := range strings.Lines(shownValue(textInput, v[name])) {
				lines = append(lines, name+": "+strings.TrimSuffix(line, "\n"))
			}
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(value)
}

// read puts what a form has sent into values, which hold what was there before. It keeps the
// texts in the fields, with what is wrong with them, and reports whether nothing is.
func read(inputs []input, form url.Values, values map[string]any) bool {
	right := true
	each(inputs, func(f *input) {
		before, stored := lookUp(values, f.Name), f.Stored
		f.Value, f.Fault = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n"), ""
		value, fault := f.parse()
		switch {
		case fault != "":
			f.Fault, right = fault, false
		case before != nil && f.Type != secretInput && f.Value == shownValue(f.Type, before):
			// as it is stored, in whichever form
		case f.Type == secretInput && value == nil && stored:
			put(values, f.Name, entity.Redaction)
		case value == nil && f.sparse, f.isFallback() && before == nil:
			drop(values, f.Name)
		default:
			put(values, f.Name, value)
		}
	})
	return right
}

// isFallback reports whether the field shows the value that there is without one.
func (f *input) isFallback() bool {
	return f.sparse && f.Value == shownValue(f.Type, f.fallback)
}

// parse returns the value of the field, nil if it is empty, or what is wrong with it.
func (f *input) parse() (value any, fault string) {
	text := strings.TrimSpace(f.Value)
	if f.Type == checkInput {
		return text == "true", ""
	}
	if text == "" {
		if f.Required {
			return nil, "is required"
		}
		return nil, ""
	}
	switch f.Type {
	case numberInput:
		return f.number(text)
	case digitsInput:
		var numbers []any
		for _, line := range strings.Fields(text) {
			n, fault := f.number(line)
			if fault != "" {
				return nil, fault
			}
			numbers = append(numbers, n)
		}
		return numbers, ""
	case linesInput:
		return lines(f.Value), ""
	case pairsInput, fieldsInput:
		return f.named()
	case jsonInput:
		var made any
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			return nil, "is not JSON: " + err.Error()
		}
		return json.RawMessage(text), ""
	case choiceInput:
		if !slices.ContainsFunc(f.Options, func(o option) bool { return o.Value == text }) {
			return nil, fmt.Sprintf("%q is not one of the choices", text)
		}
		if f.whole {
			return json.Number(text), ""
		}
	case refInput:
		return map[string]any{"id": text}, ""
	}
	return text, ""
}

func (f *input) number(text string) (value any, fault string) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !json.Valid([]byte(text)) {
		return nil, fmt.Sprintf("%q is not a number", text)
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil && f.whole {
		return nil, fmt.Sprintf("%q is not a whole number", text)
	}
	low, lowErr := f.low.Float64()
	high, highErr := f.high.Float64()
	if lowErr == nil && number < low || highErr == nil && number > high {
		return nil, fmt.Sprintf("%s is not between %s and %s", text, f.low, f.high)
	}
	return json.Number(text), ""
}

// named reads lines of the form "name: text".
func (f *input) named() (value any, fault string) {
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
	if f.Type == pairsInput {
		return texts, ""
	}
	return all, ""
}

// lines lists the lines of a text that are not empty.
func lines(text string) []any {
	var made []any
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			made = append(made, line)
		}
	}
	return made
}

// blame puts what is wrong at the fields it is about, and returns what is left.
func blame(inputs []input, p *problem) string {
	left := maps.Clone(p.Fields)
	each(inputs, func(f *input) {
		if reason := lookUp(p.Fields, f.Name); reason != nil {
			f.Fault = faultText(reason)
			first, _, nested := strings.Cut(f.Name, ".")
			if !nested || !isRecord(left[first]) || countLeaves(left[first]) <= 1 {
				delete(left, first)
			}
		}
	})
	if len(left) > 0 || len(p.Fields) == 0 {
		return p.Message
	}
	return ""
}

func isRecord(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// countLeaves counts the values of an object, those of objects within included.
func countLeaves(value any) int {
	record, ok := value.(map[string]any)
	if !ok {
		return 1
	}
	n := 0
	for _, member := range record {
		n += countLeaves(member)
	}
	return n
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
