package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/apimgmt/position"
)

func parseYAML(data []byte, limits Limits) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var parsed yaml.Node
	if err := decoder.Decode(&parsed); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &position.Error{Err: errors.New("the document is empty")}
		}
		return nil, yamlError(err)
	}
	var more yaml.Node
	if err := decoder.Decode(&more); err == nil {
		return nil, &position.Error{Line: more.Line, Column: more.Column, Err: errors.New("there is a second document")}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	r := &yamlReader{budget: budget{limits: limits}}
	root := &Node{}
	if err := r.value(root, &parsed, 1); err != nil {
		return nil, err
	}
	return root, nil
}

// yamlError takes the line out of a message of the parser.
func yamlError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if line, convErr := strconv.Atoi(number); convErr == nil {
				return &position.Error{Line: line, Err: errors.New(what)}
			}
		}
	}
	return &position.Error{Err: errors.New(message)}
}

// yamlReader creates a tree of the nodes of the parser, in which aliases are
// replaced by copies.
type yamlReader struct {
	budget  budget
	aliases int // that are being followed
}

func (r *yamlReader) fail(n *Node, from *yaml.Node, format string, args ...any) error {
	n.Line, n.Column = from.Line, from.Column
	return n.Errorf(format, args...)
}

func (r *yamlReader) value(n *Node, from *yaml.Node, depth int) error {
	for from.Kind == yaml.DocumentNode && len(from.Content) == 1 {
		from = from.Content[0]
	}
	if n.Line == 0 {
		n.Line, n.Column = from.Line, from.Column
	}
	if err := r.budget.take(depth); err != nil {
		return n.Errorf("%w", err)
	}
	switch from.Kind {
	case yaml.AliasNode:
		if from.Alias == nil {
			return r.fail(n, from, "the alias has no anchor")
		}
		r.aliases++
		defer func() { r.aliases-- }()
		if r.aliases > r.budget.limits.Depth {
			return r.fail(n, from, "%w: aliases are nested deeper than %d", ErrLimit, r.budget.limits.Depth)
		}
		return r.value(n, from.Alias, depth)
	case yaml.MappingNode:
		if tag := from.ShortTag(); tag != "!!map" {
			return r.fail(n, from, "the tag %q is not allowed", tag)
		}
		return r.object(n, from, depth)
	case yaml.SequenceNode:
		if tag := from.ShortTag(); tag != "!!seq" {
			return r.fail(n, from, "the tag %q is not allowed", tag)
		}
		n.Kind = Array
		for _, item := range from.Content {
			made := &Node{}
			n.Append(made)
			if err := r.value(made, item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case yaml.ScalarNode:
		return r.scalar(n, from)
	}
	return r.fail(n, from, "there is no value")
}

// object reads the members, and those that a merge key brings in where the
// mapping does not have them itself.
func (r *yamlReader) object(n *Node, from *yaml.Node, depth int) error {
	n.Kind = Object
	lines := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		made := &Node{Line: key.Line, Column: key.Column}
		name, err := r.key(made.under(n, key.Value), key)
		if err != nil {
			return err
		}
		if line, twice := lines[name]; twice {
			return made.under(n, name).Errorf("the key stands here a second time, after line %d", line)
		}
		if err := r.budget.spend(name); err != nil {
			return made.under(n, name).Errorf("%w", err)
		}
		lines[name] = key.Line
		n.Put(name, made)
		if err := r.value(made, value, depth+1); err != nil {
			return err
		}
	}
	for _, merge := range merges {
		if err := r.merge(n, merge, lines, depth); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the members of a mapping, or of each of a list of them.
func (r *yamlReader) merge(n *Node, from *yaml.Node, lines map[string]int, depth int) error {
	source := &Node{}
	source.under(n, "<<")
	if err := r.value(source, from, depth+1); err != nil {
		return err
	}
	sources := []*Node{source}
	if source.Kind == Array {
		sources = source.Items
	}
	for _, one := range sources {
		if one.Kind != Object {
			return one.Errorf("only mappings can be merged, this is %s", one.Kind)
		}
		for _, member := range one.Members {
			if _, has := lines[member.Key]; !has {
				lines[member.Key] = member.Value.Line
				n.Put(member.Key, member.Value)
			}
		}
	}
	return nil
}

// key reads a key. Numbers and booleans stand for their text, as in the responses
// of API definitions.
func (r *yamlReader) key(n *Node, from *yaml.Node) (string, error) {
	for hops := 0; from.Kind == yaml.AliasNode && from.Alias != nil; hops++ {
		if hops > r.budget.limits.Depth {
			return "", r.fail(n, from, "%w: aliases of keys are nested too deep", ErrLimit)
		}
		from = from.Alias
	}
	if from.Kind != yaml.ScalarNode {
		return "", r.fail(n, from, "a key has to be a string")
	}
	switch tag := from.ShortTag(); tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return from.Value, nil
	default:
		return "", r.fail(n, from, "a key has to be a string, this has the tag %q", tag)
	}
}

// number is a literal of JSON.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (r *yamlReader) scalar(n *Node, from *yaml.Node) error {
	if err := r.budget.spend(from.Value); err != nil {
		return n.Errorf("%w", err)
	}
	switch tag := from.ShortTag(); tag {
	case "!!str", "!!timestamp":
		n.Kind, n.Text = String, from.Value
	case "!!null":
		n.Kind = Null
	case "!!bool":
		var value bool
		if err := from.Decode(&value); err != nil {
			return r.fail(n, from, "%q is not a boolean", from.Value)
		}
		n.Kind, n.Text = Bool, strconv.FormatBool(value)
	case "!!int":
		n.Kind, n.Text = Number, from.Value
		if number.MatchString(from.Value) {
			return nil
		}
		if len(from.Value) > 100 {
			return r.fail(n, from, "the number has %d digits", len(from.Value))
		}
		value, ok := new(big.Int).SetString(strings.TrimPrefix(strings.ReplaceAll(from.Value, "_", ""), "+"), 0)
		if !ok {
			return r.fail(n, from, "%q is not an integer", from.Value)
		}
		n.Text = value.String()
	case "!!float":
		n.Kind, n.Text = Number, from.Value
		if number.MatchString(from.Value) {
			return nil
		}
		var value float64
		if err := from.Decode(&value); err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
			return r.fail(n, from, "%q is not a number that JSON has", from.Value)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return r.fail(n, from, "%q: %w", from.Value, err)
		}
		n.Text = string(text)
	default:
		return r.fail(n, from, "the tag %q is not allowed", tag)
	}
	return nil
}
