package definition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// Limits bound a definition. Zero fields mean the defaults.
type Limits struct {
	// Bytes is how long the file may be; 4 MiB.
	Bytes int
	// Depth is how deep values may be within each other; 100.
	Depth int
	// Values is how many values there may be, what aliases of YAML stand for
	// included; 200000.
	Values int
	// Operations is how many operations there may be; 5000.
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
// Swagger 2.0 or of OpenAPI 3.2, which Kong's converter and most tools do not know
// yet, is an error that wraps [ErrVersion]. So are, with [ErrInvalid]:
// references that lead out of the file, keys, paths or operationIds that are
// there twice, servers that are no addresses, and whatever kin-openapi finds
// invalid. References that follow each other more than 32 times, or that lead to
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
	c.references(root)
	c.dialects(root)
	c.checkReach(root, maxVisits)
	if c.failed() { // before anybody follows the references
		return nil, c.err()
	}
	c.servers(root)
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
	if err := validate(ctx, root); err != nil {
		return nil, err
	}
	d := &Definition{raw: bytes.Clone(data), root: root, format: format, operations: c.found}
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

// validate has kin-openapi check the file, and finds the place of what it tells.
func validate(ctx context.Context, root *document.Node) error {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
		return nil, fmt.Errorf("the reference to %q leads out of the file", location)
	}
	parsed, err := loader.LoadFromData(root.AppendJSON(nil))
	if err == nil {
		err = parsed.Validate(ctx, openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, place(root, err).Errorf("%w", shortened{err}))
	}
	return nil
}

// maxMessage is how much of a message of the validator is told: it may quote the file.
const maxMessage = 1000

// shortened is an error whose message has an end.
type shortened struct{ err error }

func (s shortened) Unwrap() error { return s.err }

func (s shortened) Error() string {
	message := s.err.Error()
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// place is the node that an error of the validator is about, as near as its types
// tell.
func place(root *document.Node, err error) *document.Node {
	at := root
	step := func(keys ...string) {
		for _, key := range keys {
			next := at.Get(key)
			if next == nil {
				return
			}
			at = next
		}
	}
	var section *openapi3.SectionValidationError
	var component *openapi3.ComponentValidationError
	var path *openapi3.PathValidationError
	var operation *openapi3.OperationValidationError
	if errors.As(err, &section) {
		step(section.Section)
	}
	if errors.As(err, &component) && at.Key() == "components" {
		words := strings.Fields(component.Section)
		for i := 1; i < len(words); i++ {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
		plural := strings.Join(words, "") + "s"
		if component.Section == "request body" {
			plural = "requestBodies"
		}
		step(plural, component.Name)
	}
	if errors.As(err, &path) && at.Key() == "paths" {
		step(path.Path)
	}
	if errors.As(err, &operation) && at.Parent().Key() == "paths" {
		step(strings.ToLower(operation.Method))
	}
	return at
}

// methods are the operations that a path may have, as the file writes them.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}
}

func isMethod(key string) bool { return slices.Contains(methods(), key) }
