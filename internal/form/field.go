package form

import (
	"cmp"
	"embed"
	"net/url"
	"slices"
	"strings"
)

// Files has the template "field", in field.html.
//
//go:embed field.html
var Files embed.FS

// Kind is the kind of a field: its control, and how its text is read.
type Kind string

// The kinds of fields.
const (
	Text      Kind = ""          // one line
	Area      Kind = "area"      // a text of several lines, in a notation
	Prose     Kind = "prose"     // a text of several lines, in a natural language
	Scalar    Kind = "scalar"    // a number, a truth value or a text, whichever it reads as in JSON
	Number    Kind = "number"    // a number
	Secret    Kind = "secret"    // a text that is not shown; empty keeps the stored one
	Check     Kind = "check"     // a truth value
	Choice    Kind = "choice"    // one of the options
	Reference Kind = "reference" // the identifier of another object, as {"id": TEXT}; a choice if there are options
	Lines     Kind = "lines"     // a list of texts, one per line
	Words     Kind = "words"     // a list of texts, with commas or spaces in between
	Numbers   Kind = "numbers"   // a list of numbers, with spaces in between
	Pairs     Kind = "pairs"     // a text for each name, as lines of NAME: TEXT
	Lists     Kind = "lists"     // a list of texts for each name, as lines of NAME: TEXT
	JSON      Kind = "json"      // any JSON value
	Group     Kind = "group"     // further fields
)

// Option is one of a choice. An empty label means that the value is the label.
type Option struct{ Value, Label string }

// Options returns options whose labels are their values.
func Options[T ~string](values ...T) []Option {
	options := make([]Option, len(values))
	for i, v := range values {
		options[i] = Option{Value: string(v)}
	}
	return options
}

// Field is a field of a form.
type Field struct {
	// Name is that of the control.
	Name string
	// ID is the identifier of the control in the page. Empty means Name.
	ID string
	// Path is that of the value in the JSON of the form, with dots in between. Empty means Name.
	Path string

	// Label names the field. With IsIdentifier it is an identifier rather than words.
	Label        string
	IsIdentifier bool
	// Hint and Placeholder explain the field.
	Hint, Placeholder string

	Kind Kind
	// Type is the type of the control of a text, such as url. Empty means text.
	Type string
	// Options are those of a choice, or of another kind whose control is a list of them.
	Options []Option
	// Fields are those of a group.
	Fields Fields

	// Value is what the field shows.
	Value string
	// Fault is what is wrong with it.
	Fault string
	// Stored says that a secret is stored, which an empty field keeps. Mask stands for it in JSON.
	Stored bool
	Mask   string

	// Required says that the field must not be empty.
	Required bool
	// More says that few people need the field.
	More bool
	// Default is the JSON value of a member that is absent. Sparse says that a field that is empty or
	// has the default leaves the member out; without it an empty field is null.
	Default any
	Sparse  bool

	// Whole says that a number, also one that is chosen, has no fraction. Low and High are its bounds;
	// without both of them, only browsers check the one.
	Whole     bool
	Low, High string
	// Step makes browsers check a number, which is a multiple of it or, with "any", any number.
	Step string
	// MinLength, MaxLength and Pattern are what browsers check of a text. Zero and empty mean nothing.
	MinLength, MaxLength int
	Pattern              string
	// Rows is the height of a control of several lines. Zero means a default.
	Rows int
}

// Control returns the identifier of the control.
func (f Field) Control() string { return cmp.Or(f.ID, f.Name) }

// IsSelect reports whether the control is a list of options.
func (f Field) IsSelect() bool { return f.Kind == Choice || f.Options != nil }

// IsArea reports whether the control has several lines. A text with line breaks needs one: a browser
// removes them from a control of one line.
func (f Field) IsArea() bool {
	return slices.Contains([]Kind{Area, Prose, Lines, Pairs, Lists, JSON}, f.Kind) ||
		(f.Kind == Text && (f.Rows > 0 || strings.Contains(f.Value, "\n")))
}

// Height returns the number of lines of the control.
func (f Field) Height() int {
	if f.Kind == JSON {
		return cmp.Or(f.Rows, 10)
	}
	return cmp.Or(f.Rows, 2)
}

// HasFault reports whether something is wrong with the field or with one of its group.
func (f Field) HasFault() bool { return f.Fault != "" || slices.ContainsFunc(f.Fields, Field.HasFault) }

func (f Field) path() string { return cmp.Or(f.Path, f.Name) }

// Fields are the fields of a form, or a part of them.
type Fields []Field

// Each calls visit with every field that has a value, those of groups included.
func (fields Fields) Each(visit func(*Field)) {
	for i := range fields {
		if fields[i].Kind == Group {
			fields[i].Fields.Each(visit)
			continue
		}
		visit(&fields[i])
	}
}

// Find returns the field with a name; nil if it is absent.
func (fields Fields) Find(name string) (found *Field) {
	fields.Each(func(f *Field) {
		if f.Name == name {
			found = f
		}
	})
	return found
}

// Group returns the fields of the group with a name; nil if it is absent.
func (fields Fields) Group(name string) Fields {
	for _, f := range fields {
		if f.Kind != Group {
			continue
		}
		if f.Name == name {
			return f.Fields
		}
		if found := f.Fields.Group(name); found != nil {
			return found
		}
	}
	return nil
}

// At returns the field of a member, or of the object that the member is in, or else the first field
// of a member below it; nil if it is absent.
func (fields Fields) At(path string) (found *Field) {
	longest, path := 0, path+"."
	fields.Each(func(f *Field) {
		switch at := f.path() + "."; {
		case strings.HasPrefix(path, at) && len(at) > longest:
			found, longest = f, len(at)
		case found == nil && strings.HasPrefix(at, path):
			found = f
		}
	})
	return found
}

// Fill sets the values of all fields to those of a form.
func (fields Fields) Fill(form url.Values) {
	fields.Each(func(f *Field) {
		f.Value = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n") // browsers end lines as HTTP does
	})
}

// Get returns the value of the field with a name, without space around it; empty if it is absent.
func (fields Fields) Get(name string) string {
	if f := fields.Find(name); f != nil {
		return strings.TrimSpace(f.Value)
	}
	return ""
}
