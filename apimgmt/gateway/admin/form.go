package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// The bounds of forms.
const (
	formFields = 2000
	formDepth  = 16
	formIndex  = 1000
)

// field is a field of a form: "config.minute" and "5".
type field struct{ name, value string }

// decodeForm makes JSON of the fields of a form, as Kong reads them:
// "service.id=…" is a member of an object, "methods[]=GET" an item of a list, as is
// "methods[1]=GET", whose numbers count from one. An empty value is null. Texts
// become numbers, booleans and lists where the type says so; where it says nothing,
// as within the configuration of a plugin, what looks like a number or a boolean is
// one.
func decodeForm(fields []field, of reflect.Type) ([]byte, error) {
	if len(fields) > formFields {
		return nil, fmt.Errorf("the form has %d fields, more than %d", len(fields), formFields)
	}
	root := &formNode{}
	for _, f := range fields {
		steps, err := formSteps(f.name)
		if err == nil {
			err = root.put(steps, f.value)
		}
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		}
	}
	if root.members == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(root.typed(of))
}

// formNode is a value of a form: a text, a list or an object.
type formNode struct {
	text    *string
	items   map[int]*formNode // by the numbers of the form, or from formIndex+1 on
	members map[string]*formNode
	next    int
}

// formSteps splits the name of a field: "a.b[]" is a, b and "[]"; "a[2]" is a and
// "[2]"; "a[b]" is a and b.
func formSteps(name string) ([]string, error) {
	var steps []string
	rest := name
	for rest != "" {
		var step string
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, errors.New(`"[" is not closed`)
			}
			if strings.Contains(rest[1:end], "[") {
				return nil, errors.New(`"[" stands within brackets`)
			}
			step, rest = rest[:end+1], strings.TrimPrefix(rest[end+1:], ".")
			if _, err := strconv.Atoi(step[1:end]); step != "[]" && err != nil {
				step = step[1:end]
			}
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			step, rest = rest[:end], strings.TrimPrefix(rest[end:], ".")
		}
		if step == "" {
			return nil, errors.New("a part of the name is empty")
		}
		if steps = append(steps, step); len(steps) > formDepth {
			return nil, fmt.Errorf("has more than %d parts", formDepth)
		}
	}
	if len(steps) == 0 {
		return nil, errors.New("the name is empty")
	}
	return steps, nil
}

func (n *formNode) put(steps []string, value string) error {
	if len(steps) == 0 {
		switch {
		case n.members != nil:
			return errors.New("is a text and has members")
		case n.items != nil:
			n.items[formIndex+1+n.next] = &formNode{text: &value}
			n.next++
		case n.text != nil: // the same name again makes a list
			n.items = map[int]*formNode{formIndex + 1: {text: n.text}, formIndex + 2: {text: &value}}
			n.text, n.next = nil, 2
		default:
			n.text = &value
		}
		return nil
	}
	if n.text != nil {
		return errors.New("is a text and has members")
	}
	step := steps[0]
	if !strings.HasPrefix(step, "[") {
		if n.items != nil {
			return errors.New("is a list and has members")
		}
		if n.members == nil {
			n.members = map[string]*formNode{}
		}
		if n.members[step] == nil {
			n.members[step] = &formNode{}
		}
		return n.members[step].put(steps[1:], value)
	}
	if n.members != nil {
		return errors.New("is a list and has members")
	}
	if n.items == nil {
		n.items = map[int]*formNode{}
	}
	at := formIndex + 1 + n.next
	if step == "[]" {
		n.next++
	} else {
		var err error
		if at, err = strconv.Atoi(step[1 : len(step)-1]); err != nil || at < 0 || at > formIndex {
			return fmt.Errorf("%s is not between 0 and %d", step, formIndex)
		}
	}
	if n.items[at] == nil {
		n.items[at] = &formNode{}
	}
	return n.items[at].put(steps[1:], value)
}

// list returns the items in order.
func (n *formNode) list() []*formNode {
	var at []int
	for i := range n.items {
		at = append(at, i)
	}
	sort.Ints(at)
	list := make([]*formNode, len(at))
	for i, index := range at {
		list[i] = n.items[index]
	}
	return list
}

// typed is the value as JSON has it. A nil type is one that is not known. What does
// not fit the type stays as it is, for the decoder to refuse.
func (n *formNode) typed(of reflect.Type) any {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of == reflect.TypeFor[json.RawMessage]() {
		of = nil
	}
	switch {
	case n.members != nil:
		object := make(map[string]any, len(n.members))
		for name, member := range n.members {
			object[name] = member.typed(memberType(of, name))
		}
		return object
	case n.items != nil:
		list := []any{}
		for _, item := range n.list() {
			list = append(list, item.typed(itemType(of)))
		}
		return list
	}
	return typedText(*n.text, of)
}

func typedText(text string, of reflect.Type) any {
	if text == "" {
		return nil
	}
	kind := reflect.Invalid
	if of != nil {
		kind = of.Kind()
	}
	switch kind {
	case reflect.Slice:
		return []any{typedText(text, of.Elem())}
	case reflect.String, reflect.Struct:
		return text
	}
	if kind != reflect.Bool {
		if number, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) && number == number {
			return json.Number(text)
		}
	}
	if kind == reflect.Invalid || kind == reflect.Bool {
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}

func itemType(of reflect.Type) reflect.Type {
	if of != nil && of.Kind() == reflect.Slice {
		return of.Elem()
	}
	return nil
}

// memberType is the type of a member; nil if it is not known.
func memberType(of reflect.Type, name string) reflect.Type {
	if of == nil {
		return nil
	}
	switch of.Kind() {
	case reflect.Map:
		return of.Elem()
	case reflect.Struct:
		for _, f := range structFields(of) {
			if f.name == name {
				return f.Type
			}
		}
		return reflect.TypeFor[string]()
	}
	return nil
}

// structField is a field of a structure as JSON has it.
type structField struct {
	reflect.StructField
	name  string
	blank bool // whether it is left out where it is empty
}

// structFields lists the fields of a structure of package entity, those of embedded
// structures included.
func structFields(of reflect.Type) []structField {
	var all []structField
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			for _, inner := range structFields(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				all = append(all, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, structField{StructField: f, name: name, blank: options == "omitempty"})
	}
	return all
}
