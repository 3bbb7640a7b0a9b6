package definition

import "github.com/iotenablers/enablers/apimgmt/internal/document"

// older is a schema of OpenAPI 3.1 as 3.0 writes the same: null among the types, a
// constant, and bounds that are excluded. What else only 3.1 has stays, and the
// validator refuses it. What is not a schema stays too.
func older(n *document.Node) *document.Node {
	if n.Kind != document.Object {
		return n
	}
	made := &document.Node{Kind: document.Object, Line: n.Line, Column: n.Column}
	yes := func() *document.Node { return &document.Node{Kind: document.Bool, Text: "true"} }
	array := func(item *document.Node) *document.Node {
		list := &document.Node{Kind: document.Array}
		list.Append(item)
		return list
	}
	for _, member := range n.Members {
		key, value := member.Key, member.Value
		bound := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
		switch {
		case key == "type" && n.Get("nullable") == nil && orNull(value) != nil:
			made.Put(key, orNull(value))
			made.Put("nullable", yes())
		case key == "type" && n.Get("nullable") == nil && n.Get("enum") == nil && n.Get("const") == nil && text(value) == "null":
			made.Put("enum", array(&document.Node{Kind: document.Null}))
			made.Put("nullable", yes())
		case key == "const" && n.Get("enum") == nil && value.Kind != document.Null:
			made.Put("enum", array(value))
		case bound != "" && value.Kind == document.Number && n.Get(bound) == nil:
			made.Put(bound, value)
			made.Put(key, yes())
		default:
			made.Put(key, value)
		}
	}
	return made
}

// orNull is the one type that stands beside null, and nil if there is no such pair.
func orNull(types *document.Node) *document.Node {
	const pair = 2
	if types.Kind != document.Array || len(types.Items) != pair {
		return nil
	}
	for i, item := range types.Items {
		other := types.Items[1-i]
		if name, ok := other.Str(); ok && text(item) == "null" && name != "null" {
			return &document.Node{Kind: document.String, Text: name}
		}
	}
	return nil
}
