package definition

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// checker finds what is wrong with a definition that its schema does not cover,
// and the operations while it is at it.
type checker struct {
	root     *document.Node
	found    []Operation
	wrong    []error
	more     int
	warnings []string
	bare     []string                  // pointers of example objects without a value
	alike    map[string]*document.Node // paths that match the same requests as one before
}

// maxErrors is the number of errors that are reported at once.
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

// isData reports whether a member holds a value of the API's own, in which a "$ref" is
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
		if slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef"}, member.Key) {
			if ref, ok := member.Value.Str(); ok && !strings.HasPrefix(ref, "#") {
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
		if member.Key == "$schema" || (member.Key == "jsonSchemaDialect" && n.Parent() == nil) {
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
	seen := map[*document.Node]bool{}
	for _, path := range members(root.Get("paths")) {
		item, err := resolve(root, path.Value)
		if err != nil || seen[item] { // an error is one of paths
			continue
		}
		seen[item] = true
		c.addresses(item.Get("servers"))
		for _, operation := range item.Members {
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
	first := map[string]*document.Node{}     // path by shape
	served := map[[2]string]*document.Node{} // path by shape and method
	routed := map[[2]string]*document.Node{} // path by what gateways match, and method
	ids := map[string]*document.Node{}
	for _, path := range members(root.Get("paths")) {
		parsed, err := parseTemplate(path.Key)
		if err != nil {
			c.fail(path.Value.Errorf("%w", err))
			continue
		}
		item, err := resolve(root, path.Value)
		if err != nil {
			c.fail(err)
			continue
		}
		if reason := parsed.unreachable(); reason != "" {
			c.warn(path.Value.Errorf("no request reaches the path %q: %s", shown(path.Key), reason))
		}
		shape := parsed.shape()
		if before := first[shape]; before == nil {
			first[shape] = path.Value
		} else if !c.alongside(served, shape, path.Value, item, before) {
			continue
		}
		for _, method := range item.Members {
			if !isMethod(method.Key) {
				continue
			}
			served[[2]string{shape, method.Key}] = path.Value
			c.reachable(routed, parsed, path.Value, method)
			operation := method.Value
			if id := text(operation.Get("operationId")); id != "" && item == path.Value {
				if first, twice := ids[id]; twice {
					c.fail(operation.Get("operationId").Errorf("the operationId %q stands in line %d too", id, first.Line))
				}
				ids[id] = operation.Get("operationId")
			}
			c.found = append(c.found, newOperation(root, path.Key, method.Key, operation))
		}
	}
	if len(c.found) == 0 && is31(root) {
		c.warn(errors.New("there is no operation: the gateway routes no request to the API"))
	}
}

// reachable warns of operations that no request reaches, although they are valid.
func (c *checker) reachable(routed map[[2]string]*document.Node, path template, n *document.Node, method document.Member) {
	upper := strings.ToUpper(method.Key)
	if method.Key == "trace" {
		c.warn(method.Value.Errorf("no request reaches %s %q: gateways answer TRACE with 405", upper, shown(n.Key())))
		return
	}
	key := [2]string{path.normal().shape(), method.Key}
	if first := routed[key]; first != nil {
		c.warn(n.Errorf("the path matches the same requests as %q in line %d once gateways have normalised it, and both have %s: "+
			"no request reaches one of the two", shown(first.Key()), first.Line, upper))
		return
	}
	routed[key] = n
}

// alongside admits a path that matches the same requests as one before it. OpenAPI
// forbids the two (section 4.8.8.2, Path Templating Matching). Public APIs have them all
// the same, and there is no doubt where a request belongs as long as no method is in
// both: that is a warning.
func (c *checker) alongside(served map[[2]string]*document.Node, shape string, path, item, before *document.Node) bool {
	for _, method := range item.Members {
		if !isMethod(method.Key) {
			continue
		}
		if other := served[[2]string{shape, method.Key}]; other != nil {
			c.fail(path.Errorf("the path matches the same requests as %q in line %d, and both have %s",
				shown(other.Key()), other.Line, strings.ToUpper(method.Key)))
			return false
		}
	}
	if c.alike == nil {
		c.alike = map[string]*document.Node{}
	}
	c.alike[path.Key()] = path
	c.warn(path.Errorf("the path matches the same requests as %q in line %d, which OpenAPI forbids; "+
		"the methods differ, and each request is routed by its method", shown(before.Key()), before.Line))
	return true
}

// warn adds a hint for the author that refuses nothing.
func (c *checker) warn(err error) {
	if len(c.warnings) < maxErrors {
		c.warnings = append(c.warnings, err.Error())
	}
}

// componentName is what the keys of components may be (section 4.8.7).
var componentName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// pathItems checks the names of path items among the components of OpenAPI 3.1; the
// validator checks those of the others.
func (c *checker) pathItems(root *document.Node) {
	items := root.Get("components").Get("pathItems")
	if items == nil || !is31(c.root) {
		return
	}
	for _, item := range items.Members {
		if !componentName.MatchString(item.Key) {
			c.fail(item.Value.Errorf(`the name %q of a component has other characters than letters, digits, ".", "_" and "-"`,
				shown(item.Key)))
		}
	}
}

// maxHops is the number of references in a row that are followed.
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
			return nil, ref.Errorf("the reference %q is not a JSON pointer", shown(text(ref)))
		}
		target, ok := root.Resolve(pointer)
		if !ok {
			return nil, ref.Errorf("the reference %q leads nowhere", shown(text(ref)))
		}
		at = target
	}
	return nil, n.Errorf("more than %d references follow each other", maxHops)
}

// newOperation is an operation for lists.
func newOperation(root *document.Node, path, method string, n *document.Node) Operation {
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
	o.DeclaresSecurity = declaresSecurity(root, n)
	return o
}

// declaresSecurity reports whether every alternative of the security requirements demands
// something (OpenAPI section 4.8.30, Security Requirement Object).
func declaresSecurity(root, operation *document.Node) bool {
	security := operation.Get("security")
	if security == nil {
		security = root.Get("security")
	}
	if security == nil || len(security.Items) == 0 {
		return false
	}
	return !slices.ContainsFunc(security.Items, func(n *document.Node) bool { return len(n.Members) == 0 })
}
