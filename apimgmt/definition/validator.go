package definition

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

const validatorPlugin = "request-validator"

// The bounds of what request validators are given. Every route has a copy of what its
// operation reaches, so the sum does not follow from the length of the file.
const (
	maxValidated    = 256 << 10 // bytes for one operation
	maxAllValidated = 4 << 20   // bytes for all operations
)

// isOpen reports whether a request validator leaves it to the definition what is
// valid.
func (p *plugin) isOpen() bool {
	if p.entity.Name != validatorPlugin {
		return false
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(p.entity.Config, &fields) != nil {
		return false
	}
	for _, name := range []string{"definition", "components", "body_schema", "parameter_schema"} {
		if value := fields[name]; len(value) > 0 && string(value) != "null" {
			return false
		}
	}
	return true
}

// validating takes the request validator of a level out of its plugins if it is to be
// filled for each operation. One with schemas of its own, which is nearer, ends what
// the levels above asked for.
func (c *converter) validating(at *level, own []*plugin) ([]*plugin, error) {
	i := slices.IndexFunc(own, func(p *plugin) bool { return p.entity.Name == validatorPlugin })
	if !c.options.RequestValidator || i < 0 {
		return own, nil
	}
	p := own[i]
	if !p.isOpen() {
		if !p.disabled() {
			at.validator = nil
		}
		return own, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(p.entity.Config, &fields); err != nil {
		return nil, err
	}
	if types := fields["allowed_content_types"]; len(types) > 0 && string(types) != "null" {
		return nil, at.node.Get(pluginPrefix + validatorPlugin).Errorf(
			"config.allowed_content_types: the request bodies of the definition say it, unless there is a body_schema")
	}
	if at.validator == nil {
		at.validator = p
	} else {
		at.validator = merged([]*plugin{at.validator}, []*plugin{p})[0]
	}
	return slices.Delete(own, i, i+1), nil
}

// component is what is copied as a whole: one of the file's components, or what an
// operation has itself.
type component struct {
	node   *document.Node
	data   []byte
	values int
	refs   []string // pointers of components
}

// selection copies what operations reach, within bounds.
type selection struct {
	root       *document.Node
	components map[string]*component // by pointer
	bytes      int
	visits     int
}

// fill is a request validator with the operation that it is for.
func (s *selection) fill(p *plugin, item, operation *document.Node, path template) (*plugin, error) {
	top := &component{}
	definition := &document.Node{Kind: document.Object}
	parameters := &document.Node{Kind: document.Array}
	list, err := s.parameters(item, operation, path)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		parameter, err := s.copied(n, false, top)
		if err != nil {
			return nil, err
		}
		parameters.Append(parameter)
		if top.data = parameter.AppendJSON(top.data); len(top.data) > maxValidated {
			return nil, tooLong(operation)
		}
	}
	if len(parameters.Items) > 0 {
		definition.Put("parameters", parameters)
	}
	if n := operation.Get("requestBody"); n != nil {
		body, err := s.copied(n, false, top)
		if err != nil {
			return nil, err
		}
		definition.Put("requestBody", body)
	}
	top.data = definition.AppendJSON(nil)
	components, err := s.reached(top, operation)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(p.entity.Config, &fields); err != nil {
		return nil, err
	}
	fields["definition"] = top.data
	if len(components) > 0 {
		if fields["components"], err = json.Marshal(components); err != nil {
			return nil, err
		}
	}
	made := &plugin{entity: p.entity}
	if made.entity.Config, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	made.entity.Tags = slices.Clone(p.entity.Tags)
	return made, nil
}

func tooLong(operation *document.Node) error {
	return operation.Errorf("%w: what the request-validator of the operation needs is longer than %d bytes", ErrLimit, maxValidated)
}

// parameters are those of an operation and those of its path that it does not
// replace, references followed. Those in the path come first, as they do there.
func (s *selection) parameters(item, operation *document.Node, path template) ([]*document.Node, error) {
	var list []*document.Node
	places := map[[2]string]int{}
	for _, level := range []*document.Node{item, operation} {
		parameters := level.Get("parameters")
		if parameters == nil {
			continue
		}
		for _, n := range parameters.Items {
			parameter, err := resolve(s.root, n)
			if err != nil {
				return nil, err
			}
			place := [2]string{text(parameter.Get("in")), text(parameter.Get("name"))}
			if i, has := places[place]; has {
				list[i] = parameter
				continue
			}
			places[place] = len(list)
			list = append(list, parameter)
		}
	}
	order := func(n *document.Node) int {
		i := -1
		if text(n.Get("in")) == "path" {
			i = slices.IndexFunc(path.parts, func(p part) bool { return p.parameter != "" && p.parameter == text(n.Get("name")) })
		}
		if i < 0 {
			return len(path.parts)
		}
		return i
	}
	slices.SortStableFunc(list, func(a, b *document.Node) int { return order(a) - order(b) })
	return list, nil
}

// reached are the components that an operation leads to, by kind and name.
func (s *selection) reached(top *component, operation *document.Node) (map[string]map[string]json.RawMessage, error) {
	made := map[string]map[string]json.RawMessage{}
	length, values, count := len(top.data), top.values, 1
	seen, open := map[string]bool{}, slices.Clone(top.refs)
	for len(open) > 0 && length <= maxValidated {
		pointer := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[pointer] {
			continue
		}
		seen[pointer] = true
		u, err := s.component(pointer)
		if err != nil {
			return nil, err
		}
		kind := u.node.Parent().Key()
		if made[kind] == nil {
			made[kind] = map[string]json.RawMessage{}
		}
		made[kind][u.node.Key()] = u.data
		length += len(u.data) + len(pointer)
		values += u.values
		count++
		open = append(open, u.refs...)
	}
	s.bytes += length
	s.visits += count * values // at most, when each is followed to its ends
	switch {
	case length > maxValidated:
		return nil, tooLong(operation)
	case s.bytes > maxAllValidated:
		return nil, operation.Errorf("%w: what the request-validators of all operations up to this one need is longer "+
			"than %d bytes", ErrLimit, maxAllValidated)
	case s.visits > maxVisits:
		return nil, operation.Errorf("%w: in the request-validators of all operations up to this one references lead to "+
			"more than %d values", ErrLimit, maxVisits)
	}
	return made, nil
}

// component is the copy of one, created when it is needed first.
func (s *selection) component(pointer string) (*component, error) {
	if u := s.components[pointer]; u != nil {
		return u, nil
	}
	node, ok := s.root.Resolve(pointer)
	if !ok {
		return nil, s.root.Get("components").Errorf("a reference to %q leads nowhere", shown(pointer))
	}
	u := &component{node: node}
	made, err := s.copied(node, false, u)
	if err != nil {
		return nil, err
	}
	u.data = made.AppendJSON(nil)
	s.components[pointer] = u
	return u, nil
}

// copied is a copy without what validates nothing, such as descriptions, examples and
// extensions. Where the keys are names, nothing is left out.
func (s *selection) copied(n *document.Node, names bool, u *component) (*document.Node, error) {
	u.values++
	made := &document.Node{Kind: n.Kind, Text: n.Text, Line: n.Line, Column: n.Column}
	for _, item := range n.Items {
		value, err := s.copied(item, false, u)
		if err != nil {
			return nil, err
		}
		made.Append(value)
	}
	for _, member := range n.Members {
		key := member.Key
		if !names && isRemark(member) {
			continue
		}
		if !names && (key == "default" || key == "enum" || key == "const") {
			made.Put(key, member.Value.Edit(func(_ []string, text string) string { return text }))
			continue
		}
		ref, isText := member.Value.Str()
		switch {
		case !isText:
		case !names && key == "$ref":
			if err := s.refer(member.Value, ref, u); err != nil {
				return nil, err
			}
		case !names && (key == "$dynamicRef" || key == "$recursiveRef"):
			return nil, member.Value.Errorf("a request-validator cannot follow %s", key)
		case names && n.Key() == "mapping" && n.Parent().Key() == "discriminator":
			if s.root.Get("components").Get("schemas").Get(ref) != nil { // which may be its name alone
				ref = "#/components/schemas/" + ref
			}
			if err := s.refer(member.Value, ref, u); err != nil {
				return nil, err
			}
		}
		value, err := s.copied(member.Value, !names && hasNames(key), u)
		if err != nil {
			return nil, err
		}
		made.Put(key, value)
	}
	if names || !strings.HasPrefix(text(s.root.Get("openapi")), "3.1") {
		return made, nil
	}
	if _, ok := made.Get("$ref").Str(); ok && len(made.Members) > 1 { // in 3.0 what stands beside it is ignored
		return nil, n.Errorf("a request-validator does not know what stands beside a $ref; allOf does")
	}
	return older(made), nil
}

// refer notes a reference.
func (s *selection) refer(at *document.Node, ref string, u *component) error {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return at.Errorf("the reference %q is not a JSON pointer", shown(ref))
	}
	const parts = 4 // "", components, the kind, the name
	steps := strings.SplitN(pointer, "/", parts+1)
	if !strings.HasPrefix(ref, "#") || len(steps) < parts || steps[1] != "components" || strings.HasPrefix(steps[2], "x-") {
		return at.Errorf("a request-validator follows references to components only, not %q", shown(ref))
	}
	u.refs = append(u.refs, strings.Join(steps[:parts], "/"))
	return nil
}

// isRemark reports whether a member validates nothing.
func isRemark(member document.Member) bool {
	switch member.Key {
	case "example", "examples", "externalDocs":
		return true
	case "description", "summary", "title", "$comment":
		return member.Value.Kind == document.String
	}
	return strings.HasPrefix(member.Key, "x-")
}

// hasNames reports whether the keys of the object under a key are names that the
// author chose.
func hasNames(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependentRequired", "mapping",
		"content", "encoding", "headers":
		return true
	}
	return false
}
