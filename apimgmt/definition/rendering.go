package definition

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// rendering is the file as kin-openapi is to see it. What is valid and what the library
// refuses is put into other words: path items among the components stand among the
// webhooks, example objects without a value get one, paths that match the same requests
// get names of their own, and the version is the newest of its minor version.
type rendering struct {
	root     *document.Node // of the file
	rendered *document.Node
	webhooks map[string]*document.Node // path items of the components, by the name of the webhook
	names    map[string]string         // of paths in the file, by the names that they got
}

// The newest patch versions that kin-openapi supports. They differ in the words of the
// specification only.
const (
	newest30 = "3.0.4"
	newest31 = "3.1.2"
)

const pathItemsPointer = "#/components/pathItems/"

func newRendering(c *checker) *rendering {
	r := &rendering{root: c.root, webhooks: map[string]*document.Node{}, names: map[string]string{}}
	items := c.root.Get("components").Get("pathItems")
	if !is31(c.root) {
		items = nil
	}
	names := r.webhookNames(items)
	if items == nil && len(c.bare) == 0 && len(c.alike) == 0 {
		same := *c.root
		same.Members = slices.Clone(c.root.Members)
		r.rendered = &same
	} else {
		r.rewrite(c, items, names)
	}
	version := &document.Node{Kind: document.String, Text: newest30}
	if is31(c.root) {
		version.Text = newest31
	}
	for i := range r.rendered.Members {
		if r.rendered.Members[i].Key == "openapi" {
			r.rendered.Members[i].Value = version
		}
	}
	return r
}

// rewrite creates a copy of the file and changes it.
func (r *rendering) rewrite(c *checker, items *document.Node, names map[string]string) {
	r.rendered = c.root.Edit(func(keys []string, text string) string {
		if keys[len(keys)-1] != "$ref" || items == nil {
			return text
		}
		rest, ok := strings.CutPrefix(text, pathItemsPointer)
		if !ok {
			return text
		}
		name, below, isBelow := strings.Cut(rest, "/")
		if plain, err := url.PathUnescape(name); err == nil && names[plain] != "" {
			name = names[plain]
		}
		if isBelow {
			name += "/" + below
		}
		return "#/webhooks/" + name
	})
	for _, pointer := range c.bare {
		if example, ok := r.rendered.Resolve(pointer); ok {
			example.Members = slices.DeleteFunc(example.Members, func(m document.Member) bool { return m.Key == "value" })
			example.Put("value", &document.Node{Kind: document.Bool, Text: "true"})
		}
	}
	r.renamePaths(c.alike)
	if items != nil {
		r.movePathItems(names)
	}
}

// webhookNames are the names that path items of the components get, by their own.
func (r *rendering) webhookNames(items *document.Node) map[string]string {
	made := map[string]string{}
	if items == nil {
		return made
	}
	for _, item := range items.Members {
		name := "pathItems." + item.Key
		for r.root.Get("webhooks").Get(name) != nil {
			name += "."
		}
		made[item.Key] = name
		r.webhooks[name] = item.Value
	}
	return made
}

func (r *rendering) movePathItems(names map[string]string) {
	components := r.rendered.Get("components")
	items := components.Get("pathItems")
	components.Members = slices.DeleteFunc(components.Members, func(m document.Member) bool { return m.Key == "pathItems" })
	webhooks := r.rendered.Get("webhooks")
	if isNull(webhooks) {
		r.rendered.Members = slices.DeleteFunc(r.rendered.Members, func(m document.Member) bool { return m.Key == "webhooks" })
		webhooks = &document.Node{Kind: document.Object}
		r.rendered.Put("webhooks", webhooks)
	}
	for _, item := range items.Members {
		webhooks.Put(names[item.Key], item.Value)
	}
}

// renamePaths gives paths names that no path of a file can have: with a fragment.
func (r *rendering) renamePaths(alike map[string]*document.Node) {
	if len(alike) == 0 {
		return
	}
	paths := r.rendered.Get("paths")
	for i := range paths.Members {
		member := &paths.Members[i]
		if alike[member.Key] == nil {
			continue
		}
		name := member.Key + "#" + strconv.Itoa(i)
		r.names[name], member.Key = member.Key, name
	}
}

// validate has kin-openapi check the file, and finds the place of what it reports.
func (r *rendering) validate(ctx context.Context) error {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
		return nil, fmt.Errorf("the reference to %q leads out of the file", location)
	}
	parsed, err := loader.LoadFromData(r.rendered.AppendJSON(nil))
	if err != nil {
		if ref := reported(r.root, err.Error()); ref != nil {
			if _, err := resolve(r.root, ref.Parent()); err != nil {
				return fmt.Errorf("%w: %w", ErrInvalid, err)
			}
			return fmt.Errorf("%w: %w", ErrInvalid, ref.Errorf("the reference %q leads to something of another kind", shown(ref.Text)))
		}
	}
	if err == nil {
		err = parsed.Validate(ctx, openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, r.place(err).Errorf("%w", message{err, r.names}))
	}
	return nil
}

// maxMessage is the part of a message of the validator that is reported: it may quote the file.
const maxMessage = 1000

// message is an error of the validator whose text has an end and the names of the file.
type message struct {
	err   error
	names map[string]string
}

func (m message) Unwrap() error { return m.err }

func (m message) Error() string {
	text := m.err.Error()
	for name, original := range m.names {
		text = strings.ReplaceAll(text, name, original)
	}
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}

// reported is the first reference of a file that a message of the validator quotes, nil
// if none exists.
func reported(n *document.Node, message string) *document.Node {
	for _, item := range n.Items {
		if found := reported(item, message); found != nil {
			return found
		}
	}
	for _, member := range n.Members {
		if ref, ok := member.Value.Str(); ok && member.Key == "$ref" && strings.Contains(message, strconv.Quote(ref)) {
			return member.Value
		}
		if found := reported(member.Value, message); found != nil {
			return found
		}
	}
	return nil
}

// place is the node that an error of the validator is about, as near as its types
// tell.
func (r *rendering) place(err error) *document.Node {
	at := r.root
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
	var parameters *openapi3.PathParametersError
	var webhook *openapi3.WebhookValidationError
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
	inPaths := at.Key() == "paths"
	switch {
	case inPaths && errors.As(err, &path):
		step(r.componentName(path.Path))
	case inPaths && errors.As(err, &parameters):
		step(r.componentName(parameters.Path), strings.ToLower(parameters.Method))
	case errors.As(err, &webhook):
		if item := r.webhooks[webhook.Name]; item != nil {
			at = item
			break
		}
		step(webhook.Name)
	}
	if errors.As(err, &operation) && (inPaths || webhook != nil) {
		step(strings.ToLower(operation.Method))
	}
	return at
}

// componentName is a path as the file has it.
func (r *rendering) componentName(path string) string {
	if original, renamed := r.names[path]; renamed {
		return original
	}
	return path
}
