package definition

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// Limits bound a definition. Zero fields mean the defaults.
type Limits struct {
	// Bytes is the greatest length of the file; 4 MiB.
	Bytes int
	// Depth is the greatest depth of nested values; 100.
	Depth int
	// Values is the greatest number of values, what aliases of YAML stand for
	// included; 200000.
	Values int
	// Operations is the greatest number of operations; 5000.
	Operations int
}

// The defaults of [Limits].
const (
	defaultBytes      = 4 << 20
	defaultDepth      = 100
	defaultValues     = 200_000
	defaultOperations = 5000
)

func (l Limits) withDefaults() Limits {
	for _, field := range []struct {
		limit *int
		value int
	}{{&l.Bytes, defaultBytes}, {&l.Depth, defaultDepth}, {&l.Values, defaultValues}, {&l.Operations, defaultOperations}} {
		if *field.limit <= 0 {
			*field.limit = field.value
		}
	}
	return l
}

// Load reads and checks a definition. OpenAPI 3.0 and 3.1 are accepted: a file of
// Swagger 2.0 or of OpenAPI 3.2, which Kong's converter and most tools do not support
// yet, is an error that wraps [ErrVersion]. So are, with [ErrInvalid]:
// values of another type than OpenAPI gives their field, references that lead out of
// the file, keys or operationIds that are there twice, a method of two paths that
// match the same requests, servers that are not addresses, and whatever kin-openapi
// finds invalid. The operationRef of a link may lead out of the file: it is not
// followed. References that follow each other more than 32 times, or that lead to
// more than 30 million values when each component is followed to its ends, exceed
// a limit: that takes seconds. Examples and default values are not checked against their schemas:
// that can take as long as the author of the file likes. The context ends the
// work between two steps.
func Load(ctx context.Context, data []byte, limits Limits) (*Definition, error) {
	limits = limits.withDefaults()
	root, format, err := document.Parse(data, document.Limits{Bytes: limits.Bytes, Depth: limits.Depth, Values: limits.Values})
	if errors.Is(err, document.ErrLimit) {
		return nil, fmt.Errorf("%w: %w: read the file: %w", ErrInvalid, ErrLimit, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the file: %w", ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load a definition: %w", err)
	}
	if err := checkVersion(root); err != nil {
		return nil, err
	}
	c := &checker{root: root}
	c.forms(root, "document")
	c.references(root)
	c.dialects(root)
	c.checkReach(root, maxVisits)
	if c.failed() { // before any reference is followed
		return nil, c.err()
	}
	c.servers(root)
	c.pathItems(root)
	c.paths(root)
	if n := len(c.found); n > limits.Operations {
		return nil, fmt.Errorf("%w: %w: there are %d operations, more than %d", ErrInvalid, ErrLimit, n, limits.Operations)
	}
	if c.failed() {
		return nil, c.err()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load a definition: %w", err)
	}
	if err := newRendering(c).validate(ctx); err != nil {
		return nil, err
	}
	d := &Definition{root: root, format: format, operations: c.found, warnings: c.warnings}
	for _, address := range c.addresses(root.Get("servers")) {
		d.servers = append(d.servers, address.String())
	}
	return d, nil
}

// version is a version of OpenAPI that can be read.
var version = regexp.MustCompile(`^3\.[01](\.[0-9]+)?(-[0-9A-Za-z.-]+)?$`)

func checkVersion(root *document.Node) error {
	fail := func(at *document.Node, format string, args ...any) error {
		return fmt.Errorf("%w: %w: %w", ErrInvalid, ErrVersion, at.Errorf(format, args...))
	}
	if root.Kind != document.Object {
		return fail(root, "an object is needed, this is %s", root.Kind)
	}
	if swagger := root.Get("swagger"); swagger != nil {
		return fail(swagger, "this is Swagger %s; OpenAPI 3.0 or 3.1 is needed", swagger.Text)
	}
	openapi := root.Get("openapi")
	if openapi == nil {
		return fail(root, "the field \"openapi\" is missing")
	}
	if openapi.Kind != document.String || !version.MatchString(openapi.Text) {
		return fail(openapi, "the version %q is not 3.0 or 3.1, as a string", openapi.Text)
	}
	return nil
}

// methods are the operations that a path may have, as the file writes them.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}
}

func isMethod(key string) bool { return slices.Contains(methods(), key) }
