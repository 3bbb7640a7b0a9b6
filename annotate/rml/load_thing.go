package rml

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// The vocabularies of Web of Things descriptions, and that of HTTP in RDF.
const (
	nsThing      = "https://www.w3.org/2019/wot/td#"
	nsHypermedia = "https://www.w3.org/2019/wot/hypermedia#"
	nsSecurity   = "https://www.w3.org/2019/wot/security#"
	nsHTTP       = "http://www.w3.org/2011/http#"
)

// isThing reports whether a source is a Web of Things description: a thing, an affordance or a form.
func isThing(r *document.Resource) bool {
	for _, s := range r.Statements {
		switch s.Predicate {
		case nsThing + "hasPropertyAffordance", nsThing + "hasForm", nsHypermedia + "hasTarget":
			return true
		case rdf.Type:
			if s.Object.Value == nsThing+"Thing" || s.Object.Value == nsThing+"PropertyAffordance" {
				return true
			}
		}
	}
	return false
}

// thing loads a source that a Web of Things description describes.
func (l *loader) thing(r *document.Resource, n node, source *logicalSource) error {
	thing, form := r, r
	if _, isForm := r.Value(nsHypermedia + "hasTarget"); !isForm {
		affordance := r
		if found := values(r, nsThing+"hasPropertyAffordance"); len(found) > 0 {
			if len(found) > 1 {
				return n.errorf("it has %d property affordances: expected one, or the affordance itself as the source", len(found))
			}
			affordance = l.About(found[0])
		} else {
			thing = l.findThing(r)
		}
		var err error
		if form, err = l.form(affordance, n); err != nil {
			return err
		}
	}
	source.Kind = SourceThing
	if err := l.target(thing, form, n, source); err != nil {
		return err
	}
	if err := l.request(form, n, source); err != nil {
		return err
	}
	for _, described := range []*document.Resource{form, thing} { // that of the form overrides
		if found := values(described, nsThing+"hasSecurityConfiguration"); len(found) > 0 {
			return l.security(found, n, source)
		}
	}
	return nil
}

// findThing returns the thing that has an affordance.
func (l *loader) findThing(affordance *document.Resource) *document.Resource {
	for _, subject := range l.Subjects {
		if slices.Contains(values(l.About(subject), nsThing+"hasPropertyAffordance"), affordance.Term) {
			return l.About(subject)
		}
	}
	return affordance
}

// form returns the first form of an affordance that reads it over HTTP.
func (l *loader) form(affordance *document.Resource, n node) (*document.Resource, error) {
	forms := values(affordance, nsThing+"hasForm")
	if len(forms) == 0 {
		return nil, n.errorf("it has no form: expected a %s with a %s", l.Shorten(nsThing+"hasForm"), l.Shorten(nsHypermedia+"hasTarget"))
	}
	for _, t := range forms {
		form := l.About(t)
		operations := values(form, nsHypermedia+"hasOperationType")
		if len(operations) > 0 && !slices.ContainsFunc(operations, isRead) {
			continue
		}
		target, _ := form.Value(nsHypermedia + "hasTarget")
		if u, err := url.Parse(target.Value); err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "") {
			return form, nil
		}
	}
	return nil, n.errorf("none of its %d forms reads a property over http or https", len(forms))
}

// isRead reports whether an operation type reads a property.
func isRead(t rdf.Term) bool {
	name := strings.ToLower(strings.TrimPrefix(t.Value, nsThing))
	return name == "readproperty" || name == "readallproperties" || name == "readmultipleproperties"
}

// target loads the address of a form, which may be relative to the base of the thing.
func (l *loader) target(thing, form *document.Resource, n node, source *logicalSource) error {
	targets := values(form, nsHypermedia+"hasTarget")
	if len(targets) != 1 {
		return n.errorf("its form has %s: expected exactly one", count(len(targets), l.Shorten(nsHypermedia+"hasTarget")))
	}
	source.Name = targets[0].Value
	if base, ok := thing.Value(nsThing + "baseURI"); ok {
		from, err := url.Parse(base.Value)
		if err != nil {
			return n.errorf("its %s is not a URL", l.Shorten(nsThing+"baseURI"))
		}
		at, err := from.Parse(source.Name)
		if err != nil {
			return n.errorf("its %s is not a URL", l.Shorten(nsHypermedia+"hasTarget"))
		}
		source.Name = at.String()
	}
	if strings.ContainsAny(source.Name, "{}") {
		return n.errorf("its %s is a URI template with variables, which a mapping gives no values for", l.Shorten(nsHypermedia+"hasTarget"))
	}
	if err := checkWeb(source.Name); err != nil {
		return n.errorf("its %s: %v", l.Shorten(nsHypermedia+"hasTarget"), err)
	}
	return nil
}

// request loads the media type, the method and the headers of a form.
func (l *loader) request(form *document.Resource, n node, source *logicalSource) error {
	if t, ok := form.Value(nsHypermedia + "forContentType"); ok {
		if err := checkMediaType(t.Value); err != nil {
			return n.errorf("its %s: %v", l.Shorten(nsHypermedia+"forContentType"), err)
		}
		source.Access.MediaType = t.Value
	}
	if t, ok := form.Value(nsHTTP + "methodName"); ok {
		switch source.Access.Method = strings.ToUpper(t.Value); source.Access.Method {
		case "GET", "POST":
		default:
			return n.errorf("its %s is %q: a source is read by GET or POST", l.Shorten(nsHTTP+"methodName"), t.Value)
		}
	}
	fields, err := l.headerFields(values(form, nsHTTP+"headers"))
	if err != nil {
		return n.errorf("its %s: %v", l.Shorten(nsHTTP+"headers"), err)
	}
	for _, t := range fields {
		field := l.About(t)
		name, _ := field.Value(nsHTTP + "fieldName")
		value, _ := field.Value(nsHTTP + "fieldValue")
		if err := checkHeader(name.Value, value.Value); err != nil {
			return n.errorf("its %s: %v", l.Shorten(nsHTTP+"headers"), err)
		}
		source.Access.Headers += name.Value + ": " + value.Value + "\n"
	}
	return nil
}

// headerFields returns the members of RDF lists of header fields, and the fields that are in none.
func (l *loader) headerFields(terms []rdf.Term) ([]rdf.Term, error) {
	var fields []rdf.Term
	for _, t := range terms {
		seen := make(map[rdf.Term]bool)
		for t.Value != rdf.Nil {
			cell := l.About(t)
			first, isList := cell.Value(rdf.First)
			rest, more := cell.Value(rdf.Rest)
			if !isList && !more {
				fields = append(fields, t)
				break
			}
			if !isList || !more || seen[t] {
				return nil, errors.New("it is not a well-formed list: expected header fields in parentheses")
			}
			seen[t] = true
			fields = append(fields, first)
			t = rest
		}
	}
	return fields, nil
}

// checkHeader returns what is wrong with a header field. It does not repeat the value.
func checkHeader(name, value string) error {
	token := func(c rune) bool {
		return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	switch {
	case name == "" || strings.ContainsFunc(name, func(c rune) bool { return !token(c) }):
		return fmt.Errorf("a field has the name %q: expected a fieldName of letters, digits and hyphens", name)
	case strings.ContainsFunc(value, func(c rune) bool { return (c < ' ' && c != '\t') || c == 0x7f || c > 0xff }):
		return fmt.Errorf("the field %s has a character that a header cannot have", name)
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "accept-encoding":
		return fmt.Errorf("the field %s belongs to the connection and cannot be set", name)
	}
	return nil
}

// security loads the security scheme of a form or thing. The credential itself is not part of a mapping.
func (l *loader) security(found []rdf.Term, n node, source *logicalSource) error {
	for _, t := range found {
		described := l.About(t)
		scheme, err := l.scheme(described)
		if err != nil {
			return n.errorf("its %s: %v", l.Shorten(nsThing+"hasSecurityConfiguration"), err)
		}
		switch current := &source.Access.Security; {
		case current.Scheme == "" || current.Scheme == NoSecurity:
			*current = scheme
		case scheme.Scheme != NoSecurity && scheme != *current:
			return n.errorf("it has several security schemes, %s and %s: expected one", current.Scheme, scheme.Scheme)
		}
	}
	return nil
}

func (l *loader) scheme(r *document.Resource) (Security, error) {
	text := func(name string) string { t, _ := r.Value(nsSecurity + name); return t.Value }
	in := text("in")
	switch {
	case hasType(r, nsSecurity+"NoSecurityScheme"):
		return Security{Scheme: NoSecurity}, nil
	case hasType(r, nsSecurity+"BasicSecurityScheme") && (in == "" || in == "header"):
		return Security{Scheme: BasicSecurity}, nil
	case hasType(r, nsSecurity+"BearerSecurityScheme") && (in == "" || in == "header"):
		return Security{Scheme: BearerSecurity}, nil
	case hasType(r, nsSecurity+"APIKeySecurityScheme") && (in == "" || in == "header" || in == "query"):
		s := Security{Scheme: KeySecurity, In: in, Name: text("name")}
		if s.In == "" {
			s.In = "query" // the default of the recommendation
		}
		if s.In == "header" {
			return s, checkHeader(s.Name, "")
		}
		if s.Name == "" {
			return s, errors.New("the API key has no name: expected that of the parameter that carries it")
		}
		return s, nil
	}
	return Security{}, errors.New("expected a NoSecurityScheme, a BasicSecurityScheme or a BearerSecurityScheme in the header, or an " +
		"APIKeySecurityScheme in the header or in the query")
}
