package definition

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// checker finds what is wrong with a definition that its schema does not tell,
// and the operations while it is at it.
type checker struct {
	root  *document.Node
	found []Operation
	wrong []error
	more  int
}

// maxErrors is how many errors are told at once.
const maxErrors = 50

func (c *checker) fail(err error) {
	if len(c.wrong) >= maxErrors {
		c.more++
		return
	}
	c.wrong = append(c.wrong, fmt.Errorf("%w: %w", ErrInvalid, err))
}

func (c *checker) failed() bool { return len(c.wrong) > 0 }

func (c *checker) err() error {
	if c.more > 0 {
		return errors.Join(append(c.wrong, fmt.Errorf("%w: %d more errors", ErrInvalid, c.more))...)
	}
	return errors.Join(c.wrong...)
}

// isData is whether a member holds a value of the API's own, in which a "$ref" is
// nothing but a name.
func isData(key string) bool {
	return key == "example" || key == "default" || key == "const" || key == "enum" || key == "value"
}

// references finds those that lead out of the file, wherever they stand.
func (c *checker) references(n *document.Node) {
	for _, item := range n.Items {
		c.references(item)
	}
	for _, member := range n.Members {
		switch member.Key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			if ref, ok := member.Value.Str(); ok && !strings.HasPrefix(ref, "#") {
				c.fail(member.Value.Errorf("the reference %q leads out of the file", shown(ref)))
			}
		case "operationRef":
			if ref, ok := member.Value.Str(); ok && !strings.HasPrefix(ref, "#") && n.Parent() != nil && n.Parent().Key() == "links" {
				c.fail(member.Value.Errorf("the reference %q leads out of the file", shown(ref)))
			}
		}
		if !isData(member.Key) || n.Key() == "properties" {
			c.references(member.Value)
		}
	}
}

// dialects finds schemas in a language that would have to be fetched.
func (c *checker) dialects(n *document.Node) {
	for _, item := range n.Items {
		c.dialects(item)
	}
	for _, member := range n.Members {
		if member.Key == "$schema" || member.Key == "jsonSchemaDialect" && n.Parent() == nil {
			dialect, ok := member.Value.Str()
			known := strings.HasPrefix(dialect, "https://json-schema.org/draft/") || strings.HasPrefix(dialect, "http://json-schema.org/draft-") ||
				strings.HasPrefix(dialect, "https://spec.openapis.org/oas/3.1/")
			if ok && !known {
				c.fail(member.Value.Errorf("the language of schemas %q is not known", shown(dialect)))
			}
		}
		if !isData(member.Key) || n.Key() == "properties" {
			c.dialects(member.Value)
		}
	}
}

// shown is a text of the file as an error quotes it.
func shown(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// servers checks the addresses at the document, the paths and the operations.
func (c *checker) servers(root *document.Node) {
	c.addresses(root.Get("servers"))
	for _, path := range members(root.Get("paths")) {
		c.addresses(path.Value.Get("servers"))
		for _, operation := range path.Value.Members {
			if isMethod(operation.Key) {
				c.addresses(operation.Value.Get("servers"))
			}
		}
	}
}

func (c *checker) addresses(servers *document.Node) []*url.URL {
	var made []*url.URL
	if servers == nil {
		return nil
	}
	for _, server := range servers.Items {
		address, err := serverURL(server)
		if err != nil {
			c.fail(err)
			continue
		}
		made = append(made, address)
	}
	return made
}

// members are those of an object, extensions excepted.
func members(n *document.Node) []document.Member {
	if n == nil {
		return nil
	}
	made := make([]document.Member, 0, len(n.Members))
	for _, member := range n.Members {
		if !strings.HasPrefix(member.Key, "x-") {
			made = append(made, member)
		}
	}
	return made
}

// paths checks the templates and lists the operations.
func (c *checker) paths(root *document.Node) {
	shapes, ids := map[string]*document.Node{}, map[string]*document.Node{}
	for _, path := range members(root.Get("paths")) {
		parsed, err := parseTemplate(path.Key)
		if err != nil {
			c.fail(path.Value.Errorf("%w", err))
			continue
		}
		if first, twice := shapes[parsed.shape()]; twice {
			c.fail(path.Value.Errorf("the path matches the same requests as %q in line %d", first.Key(), first.Line))
			continue
		}
		shapes[parsed.shape()] = path.Value
		item, err := resolve(root, path.Value)
		if err != nil {
			c.fail(err)
			continue
		}
		for _, method := range item.Members {
			if !isMethod(method.Key) {
				continue
			}
			operation := method.Value
			if id := text(operation.Get("operationId")); id != "" && item == path.Value {
				if first, twice := ids[id]; twice {
					c.fail(operation.Get("operationId").Errorf("the operationId %q stands in line %d too", id, first.Line))
				}
				ids[id] = operation.Get("operationId")
			}
			c.found = append(c.found, operationOf(root, path.Key, method.Key, item, operation))
		}
	}
}

// maxHops is how many references in a row are followed.
const maxHops = 32

// resolve follows references within the file.
func resolve(root, n *document.Node) (*document.Node, error) {
	at := n
	for range maxHops {
		ref := at.Get("$ref")
		if ref == nil {
			return at, nil
		}
		pointer, ok := strings.CutPrefix(text(ref), "#")
		if !ok {
			return nil, ref.Errorf("a reference within the file is needed")
		}
		pointer, err := url.PathUnescape(pointer)
		if err != nil {
			return nil, ref.Errorf("the reference %q is no JSON pointer", shown(text(ref)))
		}
		target, ok := root.Resolve(pointer)
		if !ok {
			return nil, ref.Errorf("the reference %q leads nowhere", shown(text(ref)))
		}
		at = target
	}
	return nil, n.Errorf("more than %d references follow each other", maxHops)
}

// operationOf is an operation for lists.
func operationOf(root *document.Node, path, method string, item, n *document.Node) Operation {
	o := Operation{Method: strings.ToUpper(method), Path: path, ID: text(n.Get("operationId")), Summary: text(n.Get("summary")),
		Description: text(n.Get("description"))}
	if deprecated := n.Get("deprecated"); deprecated != nil && deprecated.Text == "true" {
		o.Deprecated = true
	}
	if tags := n.Get("tags"); tags != nil {
		for _, tag := range tags.Items {
			o.Tags = append(o.Tags, text(tag))
		}
	}
	o.Secured = secured(root, item, n)
	return o
}

// secured is whether a caller has to show who he is.
func secured(root, item, operation *document.Node) bool {
	security := operation.Get("security")
	if security == nil {
		security = root.Get("security")
	}
	if security != nil && len(security.Items) > 0 {
		needed := true
		for _, alternative := range security.Items {
			needed = needed && len(alternative.Members) > 0
		}
		if needed {
			return true
		}
	}
	for _, name := range []string{"oidc", "openid-connect", "jwt", "key-auth", "basic-auth", "hmac-auth", "oauth2", "ldap-auth", "mtls-auth"} {
		for _, level := range []*document.Node{operation, item, root} {
			plugin := level.Get(pluginPrefix + name)
			if plugin == nil {
				continue
			}
			if plugin, err := resolve(root, plugin); err == nil {
				if enabled := plugin.Get("enabled"); enabled == nil || enabled.Text != "false" {
					return true
				}
			}
		}
	}
	return false
}
