package ngsild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// maxDepth bounds how deep blank nodes may be nested.
const maxDepth = 64

// entity is an entity as JSON.
type entity struct {
	id   string
	json []byte
}

// graph is the graph of a message.
type graph struct {
	topic      string
	subjects   []rdf.Term              // in the order of their first statements
	statements map[rdf.Term][]rdf.Quad // of each subject
	holders    map[rdf.Term][]rdf.Quad // the statements that have a blank node as object
	folded     map[rdf.Term]bool       // blank nodes that are part of an entity
}

// readEntities returns the entities of a document in N-Quads.
func readEntities(document []byte, topic string) ([]entity, error) {
	g, err := read(document, topic)
	if err != nil {
		return nil, err
	}
	var entities []entity
	for _, subject := range g.subjects {
		if subject.Kind != rdf.IRI {
			continue
		}
		e, err := g.entity(subject)
		if err != nil {
			return nil, err
		}
		entities = append(entities, e)
	}
	for _, subject := range g.subjects {
		if subject.Kind == rdf.Blank && !g.folded[subject] {
			return nil, unsayable(g.statements[subject][0], "its subject is a blank node that is no value of an entity; give it an IRI")
		}
	}
	return entities, nil
}

func read(document []byte, topic string) (*graph, error) {
	reader, err := rdf.NewReader(bytes.NewReader(document), rdf.NQuads,
		&rdf.ReaderOptions{MaxBytes: int64(len(document)) + 1, MaxToken: len(document) + 64})
	if err != nil {
		return nil, err
	}
	g := &graph{
		topic: topic, statements: map[rdf.Term][]rdf.Quad{}, holders: map[rdf.Term][]rdf.Quad{}, folded: map[rdf.Term]bool{},
	}
	seen := map[rdf.Quad]bool{}
	for q, err := range reader.All() {
		switch {
		case err != nil:
			return nil, fmt.Errorf("the output is not N-Quads: %w", err)
		case !q.Graph.IsZero():
			return nil, unsayable(q, "NGSI-LD has no named graphs; remove rr:graphMap or rml:graphMap from the mapping")
		case seen[q]:
			continue
		}
		seen[q] = true
		if g.statements[q.Subject] == nil {
			g.subjects = append(g.subjects, q.Subject)
		}
		g.statements[q.Subject] = append(g.statements[q.Subject], q)
		if q.Object.Kind == rdf.Blank {
			g.holders[q.Object] = append(g.holders[q.Object], q)
		}
	}
	return g, nil
}

// unsayable returns why a statement cannot be expressed in NGSI-LD.
func unsayable(q rdf.Quad, format string, args ...any) error {
	var text []byte
	for _, t := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
		text = append(rdf.AppendTerm(text, t), ' ')
	}
	statement := strings.ToValidUTF8(string(text), "")
	return fmt.Errorf("the statement %.400s. cannot be expressed in NGSI-LD: %s", statement, fmt.Sprintf(format, args...))
}

// attribute is an instance of an attribute.
type attribute map[string]any

// entity returns the entity of a subject (section 5.2.4).
func (g *graph) entity(subject rdf.Term) (entity, error) {
	members := map[string]any{"id": subject.Value}
	var types, names []string
	attributes := map[string][]attribute{}
	for _, q := range g.statements[subject] {
		if err := check(q); err != nil {
			return entity{}, err
		}
		if q.Predicate.Value == rdf.Type {
			if q.Object.Kind != rdf.IRI {
				return entity{}, unsayable(q, "a type must be an IRI")
			}
			types = append(types, q.Object.Value)
			continue
		}
		name := q.Predicate.Value
		before := attributes[name]
		if before == nil {
			names = append(names, name)
		}
		added, err := g.attribute(q)
		if err != nil {
			return entity{}, err
		}
		if len(before) > 0 && before[0]["type"] != added["type"] {
			return entity{}, unsayable(q, "it is a %s, and another value of the predicate is a %s; all must be of one kind",
				added["type"], before[0]["type"])
		}
		if !joinLanguages(before, added) {
			attributes[name] = append(before, added)
		}
	}
	if len(types) == 0 {
		return entity{}, unsayable(g.statements[subject][0], "its subject has no rdf:type, which an entity needs; add rr:class to the mapping")
	}
	members["type"] = single(types)
	for _, name := range names {
		instances := attributes[name]
		for i := 1; i < len(instances); i++ {
			instances[i]["datasetId"] = datasetID(g.topic, i+1)
		}
		members[name] = single(instances)
	}
	text, err := encode(members)
	return entity{subject.Value, text}, err
}

// single returns a value alone, and several as they are.
func single[T any](values []T) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// datasetID returns the identifier of an instance that is not the default one.
func datasetID(topic string, n int) string {
	if !strings.ContainsRune("/#:=", rune(topic[len(topic)-1])) {
		topic += "/"
	}
	return topic + strconv.Itoa(n)
}

// joinLanguages adds a text to an instance that has none in its language.
func joinLanguages(instances []attribute, added attribute) bool {
	texts, ok := added["languageMap"].(map[string]string)
	if !ok {
		return false
	}
	for _, instance := range instances {
		to, _ := instance["languageMap"].(map[string]string)
		for lang, text := range texts {
			if _, taken := to[lang]; !taken {
				to[lang] = text
				return true
			}
		}
	}
	return false
}

// attribute returns the instance for a statement (sections 4.5.2 and 4.5.3).
func (g *graph) attribute(q rdf.Quad) (attribute, error) {
	switch o := q.Object; {
	case o.Kind == rdf.IRI:
		return attribute{"type": "Relationship", "object": o.Value}, nil
	case o.Kind == rdf.Blank:
		value, err := g.fold(q, 1)
		return attribute{"type": "Property", "value": value}, err
	case o.Lang != "":
		return attribute{"type": "LanguageProperty", "languageMap": map[string]string{o.Lang: o.Value}}, nil
	case isGeometry(o.Datatype):
		geometry, err := parseGeometry(o)
		if err != nil {
			return nil, unsayable(q, "%v", err)
		}
		return attribute{"type": "GeoProperty", "value": geometry}, nil
	default:
		return attribute{"type": "Property", "value": jsonValue(o)}, nil
	}
}

// fold returns the statements of the blank node that is the object of a statement.
func (g *graph) fold(q rdf.Quad, depth int) (map[string]any, error) {
	node := q.Object
	switch {
	case len(g.holders[node]) > 1:
		others := g.holders[node]
		at := slices.IndexFunc(others, func(o rdf.Quad) bool { return o != q })
		return nil, unsayable(q, "its object is a blank node that %s has as object too; give it an IRI",
			rdf.AppendTerm(nil, others[at].Subject))
	case depth > maxDepth:
		return nil, unsayable(q, "blank nodes are nested deeper than %d", maxDepth)
	}
	g.folded[node] = true
	members := map[string][]any{}
	for _, s := range g.statements[node] {
		if err := check(s); err != nil {
			return nil, err
		}
		name, value := s.Predicate.Value, any(nil)
		switch o := s.Object; {
		case name == rdf.Type && o.Kind != rdf.IRI:
			return nil, unsayable(s, "a type must be an IRI")
		case name == rdf.Type:
			name, value = "@type", o.Value
		case o.Kind == rdf.IRI:
			value = map[string]string{"@id": o.Value}
		case o.Kind == rdf.Blank:
			nested, err := g.fold(s, depth+1)
			if err != nil {
				return nil, err
			}
			value = nested
		case o.Lang != "":
			value = map[string]string{"@language": o.Lang, "@value": o.Value}
		default:
			value = jsonValue(o)
		}
		members[name] = append(members[name], value)
	}
	object := make(map[string]any, len(members))
	for name, values := range members {
		object[name] = single(values)
	}
	return object, nil
}

func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode an entity: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
