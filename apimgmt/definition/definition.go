package definition

import (
	"errors"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// ErrInvalid is wrapped by every error about the contents of a definition. The
// places are in the [*position.Error] values within it.
var ErrInvalid = errors.New("definition: invalid")

// ErrVersion is wrapped by the error of a file that is not of OpenAPI 3.0 or 3.1.
var ErrVersion = errors.New("definition: unsupported version")

// ErrLimit is wrapped by the error of a file that exceeds a limit.
var ErrLimit = errors.New("definition: limit exceeded")

// Definition is a checked OpenAPI file. It does not change, and may be used by
// several goroutines at once.
type Definition struct {
	root       *document.Node
	format     document.Format
	servers    []string
	operations []Operation
	warnings   []string
}

// Operation is a method of a path, for lists and searches.
type Operation struct {
	// Method is in upper case.
	Method string `json:"method"`
	// Path is the template, such as "/things/{id}".
	Path string `json:"path"`
	// ID is the operationId, empty if none exists.
	ID          string   `json:"operationId,omitempty"`
	Summary     string   `json:"summary,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Deprecated  bool     `json:"deprecated,omitempty"`
	// DeclaresSecurity reports whether the file says that a caller has to authenticate: the
	// security requirements of the operation, or else of the document, cannot be met
	// without. It says nothing about what the gateway does.
	DeclaresSecurity bool `json:"declaresSecurity"`
}

// JSON returns the definition as JSON without spaces, secrets included.
func (d *Definition) JSON() []byte { return d.root.AppendJSON(nil) }

// IsYAML reports whether the file is YAML and not JSON.
func (d *Definition) IsYAML() bool { return d.format == document.YAML }

// OpenAPI is the version of OpenAPI, such as "3.0.3".
func (d *Definition) OpenAPI() string { return text(d.root.Get("openapi")) }

// Title is the name of the API.
func (d *Definition) Title() string { return text(d.root.Get("info").Get("title")) }

// Version is the version of the API, not that of OpenAPI.
func (d *Definition) Version() string { return text(d.root.Get("info").Get("version")) }

// Description is the author's description of the API, as Markdown.
func (d *Definition) Description() string { return text(d.root.Get("info").Get("description")) }

// Servers are the addresses of the whole API, in the order of the file, with the
// defaults of their variables. They may be relative.
func (d *Definition) Servers() []string { return slices.Clone(d.servers) }

// Warnings are hints for the author that refuse nothing, each with its
// line and JSON pointer: paths that match the same requests and differ in their methods,
// operations that no request reaches, and that there is no operation. There are 50 at most.
func (d *Definition) Warnings() []string { return slices.Clone(d.warnings) }

// Operations are those of every path, in the order of the file.
func (d *Definition) Operations() []Operation {
	made := slices.Clone(d.operations)
	for i := range made {
		made[i].Tags = slices.Clone(made[i].Tags)
	}
	return made
}

// text is the string that a node is, or empty.
func text(n *document.Node) string {
	s, _ := n.Str()
	return s
}
