package annotate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

// ErrMapping is matched by the errors about a mapping that, although it is a
// mapping, cannot serve a channel. The text of such an error is its cause.
var ErrMapping = errors.New("annotate: the mapping cannot serve a channel")

// unsuitable is an error that matches ErrMapping.
type unsuitable struct{ error }

func (e unsuitable) Is(target error) bool { return target == ErrMapping }

func (e unsuitable) Unwrap() error { return e.error }

// joinNames lists the values of a member in an error text.
func joinNames[T ~string](values []T) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

func (f OutputFormat) rdf() (rdf.Format, error) {
	if slices.Contains(OutputFormats(), f) {
		return rdf.ParseFormat(string(f))
	}
	return 0, &FieldError{"metadata.mapping.outputFormat",
		fmt.Sprintf("expected one of %s, got %q", joinNames(OutputFormats()), f)}
}

// formulation returns the reference formulation that a mapping of messages in
// the format must have.
func (f InputFormat) formulation() (rml.Formulation, error) {
	switch f {
	case JSON:
		return rml.JSONPath, nil
	case CSV:
		return rml.CSV, nil
	case XML:
		return rml.XPath, nil
	}
	return "", &FieldError{"metadata.mapping.inputFormat", fmt.Sprintf("expected one of %s, got %q", joinNames(InputFormats()), f)}
}

// Check returns nil if the mapping can be loaded. It does not ask whether it
// suits a channel.
func (m Mapping) Check() error {
	if _, err := m.load(); err != nil {
		return err
	}
	_, err := m.loadShapes()
	return err
}

func (m Mapping) load() (*rml.Mapping, error) {
	if _, err := m.InputFormat.formulation(); err != nil {
		return nil, err
	}
	if _, err := m.OutputFormat.rdf(); err != nil {
		return nil, err
	}
	loaded, err := m.parse()
	var field *FieldError
	if err != nil && !errors.As(err, &field) {
		return nil, &FieldError{"metadata.mapping.rml", err.Error()}
	}
	return loaded, err
}

// parse reads the mapping in its language.
func (m Mapping) parse() (*rml.Mapping, error) {
	switch m.Language {
	case "", LanguageRML:
		return rml.Load([]byte(m.RML), nil)
	case LanguageYARRRML:
		return yarrrml.Load([]byte(m.RML), nil)
	}
	return nil, &FieldError{"metadata.mapping.language",
		fmt.Sprintf("expected one of %s, got %q", joinNames(MappingLanguages()), m.Language)}
}

// compile loads the mapping and prepares it for the messages of a channel,
// which requires more than the engine does: everything must come from one
// source, that source must be a stream, named or not, and its references must
// be in the language of the input format.
//
// The original service also tried every mapping on a fixed dummy message. We do
// not: a reference that the dummy lacks is not a fault of the mapping, and
// compiling it finds what is.
//
// name is that of the dialect; empty means the one that the vocabulary asks for.
func (m Mapping) compile(name string, limits rml.Limits, functions []rml.Function) (*compiledMapping, error) {
	loaded, err := m.load()
	if err != nil {
		return nil, err
	}
	want, _ := m.InputFormat.formulation()
	format, _ := m.OutputFormat.rdf()
	if err := checkSources(loaded.Sources(), m.InputFormat, want); err != nil {
		return nil, unsuitable{err}
	}
	dialect := loaded.Dialect()
	if name != "" {
		if dialect, err = rml.ParseDialect(name); err != nil {
			return nil, &FieldError{"settings.dialect", err.Error()}
		}
	}
	plan, err := rml.Compile(loaded, &rml.Options{
		Dialect:     dialect,
		Format:      format,
		Strict:      true, // half an output would be worse than a failed message
		StrictInput: true, // a message that is not JSON belongs on the error topic
		Limits:      limits,
		Functions:   functions,
	})
	if err != nil {
		return nil, unsuitable{err}
	}
	if targets := plan.Targets(); len(targets) > 0 {
		return nil, unsuitable{fmt.Errorf(
			"the mapping has a logical target, the file %q; a channel has no output but its output topic", targets[0].Name)}
	}
	shapes, err := m.loadShapes()
	if err != nil {
		return nil, err
	}
	return &compiledMapping{plan: plan, shapes: shapes, format: m.InputFormat}, nil
}

func checkSources(sources []rml.Source, format InputFormat, want rml.Formulation) error {
	switch {
	case len(sources) == 0:
		return errors.New("the mapping has no logical source; a channel needs exactly one, a carml:Stream")
	case len(sources) > 1:
		return fmt.Errorf("the mapping has %d sources (%v, %v%s); a channel needs exactly one, a carml:Stream",
			len(sources), sources[0], sources[1], more(len(sources)-2))
	case sources[0].Kind != rml.SourceStream:
		return fmt.Errorf("the source of the mapping is %v; a channel needs a carml:Stream", sources[0])
	case sources[0].Compression == rml.TarXZ:
		return errors.New("the source of the mapping is packed with rml:tarxz, which asks for memory without a bound; " +
			"a channel takes messages in rml:gzip, rml:zip or rml:targz")
	case sources[0].Formulation != want:
		return fmt.Errorf("the mapping's reference formulation is ql:%s; inputFormat %s needs ql:%s",
			sources[0].Formulation, format, want)
	}
	return nil
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}
