package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// AppendJSON appends the tree as JSON without spaces. Members keep their order.
func (n *Node) AppendJSON(b []byte) []byte {
	switch n.Kind {
	case Null:
		return append(b, "null"...)
	case Bool, Number:
		return append(b, n.Text...)
	case String:
		return appendString(b, n.Text)
	case Array:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, member := range n.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, member.Key)
		b = append(b, ':')
		b = member.Value.AppendJSON(b)
	}
	return append(b, '}')
}

// appendString leaves "<", ">" and "&" as they are.
func appendString(b []byte, s string) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil { // a string is always encoded
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...)
}

// Write writes the tree, indented by two spaces, with a newline at the end.
func (n *Node) Write(w io.Writer, format Format) error {
	if format == YAML {
		encoder := yaml.NewEncoder(w)
		encoder.SetIndent(2)
		if err := encoder.Encode(n.yamlNode()); err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		if err := encoder.Close(); err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		return nil
	}
	var buffer bytes.Buffer
	if err := json.Indent(&buffer, n.AppendJSON(nil), "", "  "); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	buffer.WriteByte('\n')
	if _, err := w.Write(buffer.Bytes()); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func (n *Node) yamlNode() *yaml.Node {
	scalar := func(tag string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: n.Text}
	}
	switch n.Kind {
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case Bool:
		return scalar("!!bool")
	case Number:
		if bytes.ContainsAny([]byte(n.Text), ".eE") {
			return scalar("!!float")
		}
		return scalar("!!int")
	case String:
		return stringNode(n.Text)
	case Array:
		made := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range n.Items {
			made.Content = append(made.Content, item.yamlNode())
		}
		if len(n.Items) == 0 {
			made.Style = yaml.FlowStyle
		}
		return made
	}
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, member := range n.Members {
		made.Content = append(made.Content, stringNode(member.Key), member.Value.yamlNode())
	}
	if len(n.Members) == 0 {
		made.Style = yaml.FlowStyle
	}
	return made
}

// stringNode is a string that is read as one again.
func stringNode(s string) *yaml.Node {
	made := &yaml.Node{}
	made.SetString(s)
	if s == "<<" {
		made.Style = yaml.DoubleQuotedStyle
	}
	return made
}

// Marshal creates a tree of a value, by way of its JSON.
func Marshal(value any) (*Node, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return parseJSON(data, Limits{Bytes: len(data), Depth: 10_000, Values: len(data) + 1})
}
