package suggest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// write returns the mapping of the tables.
func write(tables []table, o Options) string {
	w := &writer{options: o, classes: map[string]int{}}
	fmt.Fprintf(&w.text, `# Suggested from a sample in %s. Look at the subjects first: what their templates name
# must tell the things apart. Then put the terms of a published vocabulary in place of ex:.
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <%s> .
@prefix map: <http://example.org/mapping/> .
`, o.Format, o.Namespace)
	for _, t := range tables {
		w.table(t)
	}
	return w.text.String()
}

type writer struct {
	options Options
	text    strings.Builder
	classes map[string]int
}

func (w *writer) table(t table) {
	class := upper(term(t.name))
	if w.classes[class]++; w.classes[class] > 1 {
		class += fmt.Sprint(w.classes[class])
	}
	formulation := map[Format]string{JSON: "JSONPath", CSV: "CSV", XML: "XPath"}[w.options.Format]
	fmt.Fprintf(&w.text, "\nmap:%s\n    rml:logicalSource [\n        rml:source [ a carml:Stream", class)
	for _, n := range t.namespaces {
		fmt.Fprintf(&w.text, " ;\n            carml:declaresNamespace [ carml:namespacePrefix %s ; carml:namespaceName %s ]",
			literal(n[0]), literal(n[1]))
	}
	fmt.Fprintf(&w.text, " ] ;\n        rml:referenceFormulation ql:%s", formulation)
	if t.iterator != "" {
		fmt.Fprintf(&w.text, " ;\n        rml:iterator %s", literal(t.iterator))
	}
	subject := w.options.Base + strings.ToLower(class)
	for _, c := range identifying(t.columns) {
		subject += "/{" + braced.Replace(c.reference) + "}"
	}
	fmt.Fprintf(&w.text, "\n    ] ;\n    rr:subjectMap [\n        rr:template %s ;\n        rr:class ex:%s\n    ]", literal(subject), class)
	used := map[string]int{}
	for _, c := range t.columns {
		property := term(c.name)
		if used[property]++; used[property] > 1 {
			property += fmt.Sprint(used[property])
		}
		fmt.Fprintf(&w.text, " ;\n    rr:predicateObjectMap [\n        rr:predicate ex:%s ;\n"+
			"        rr:objectMap [ rml:reference %s", property, literal(c.reference))
		switch datatype := c.kind.datatype(); {
		case c.kind == iri:
			w.text.WriteString(" ; rr:termType rr:IRI")
		case datatype != "":
			w.text.WriteString(" ; rr:datatype xsd:" + datatype)
		}
		w.text.WriteString(" ]\n    ]")
	}
	w.text.WriteString(" .\n")
	if t.leftOut > 0 {
		fmt.Fprintf(&w.text, "# %d more values of these records were left out.\n", t.leftOut)
	}
}

// braced escapes what templates give a meaning.
var braced = strings.NewReplacer(`\`, `\\`, `{`, `\{`, `}`, `\}`)

// identifying returns the columns that tell records apart: one that looks like an identifier,
// with the time of the record beside it where it names a device rather than the record;
// otherwise the time, otherwise the first value.
func identifying(columns []column) []column {
	best, score := -1, 0
	at := -1
	for i, c := range columns {
		if strings.Contains(c.reference, "[*]") { // several values give several subjects
			continue
		}
		if s := identity(c); s > score {
			best, score = i, s
		}
		if at < 0 && (c.kind == dateTime || c.kind == date) {
			at = i
		}
		if best < 0 && c.kind != unknown {
			best = i
		}
	}
	switch {
	case score == ownIdentity:
		return []column{columns[best]}
	case score > 0 && at >= 0:
		return []column{columns[best], columns[at]}
	case score == 0 && at >= 0:
		return []column{columns[at]}
	case best >= 0:
		return []column{columns[best]}
	}
	return columns[:1]
}

// ownIdentity is the score of a value that identifies its record alone.
const ownIdentity = 3

var (
	ownNames   = regexp.MustCompile(`^(?i)(id|_id|@id|uuid|guid|identifier|urn|key|eventid|messageid)$`)
	otherNames = regexp.MustCompile(`(?i)(id|uuid|serial|mac|imei|code)$`)
	thingNames = regexp.MustCompile(`^(?i)(name|station|device|sensor|host|machine|vehicle|node)$`)
)

// identity returns how likely a value identifies its record.
func identity(c column) int {
	words := strings.Fields(c.name)
	if len(words) == 0 {
		return 0
	}
	last := strings.TrimLeft(words[len(words)-1], "@")
	switch {
	case c.kind == decimal || c.kind == double || c.kind == boolean || c.kind == unknown || c.kind == dateTime || c.kind == date:
		return 0
	case ownNames.MatchString(last) && len(words) == 1:
		return ownIdentity
	case otherNames.MatchString(last):
		return 2
	case thingNames.MatchString(last):
		return 1
	}
	return 0
}

// term returns a name as the local part of an IRI: in ASCII, as camelCase.
func term(name string) string {
	var made strings.Builder
	up := false
	for _, r := range name {
		switch {
		case r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if up && made.Len() > 0 {
				r = unicode.ToUpper(r)
			}
			if made.Len() == 0 {
				if unicode.IsDigit(r) {
					made.WriteByte('n')
				}
				r = unicode.ToLower(r)
			}
			made.WriteRune(r)
			up = false
		default:
			up = true
		}
	}
	if made.Len() == 0 {
		return "value"
	}
	return made.String()
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// singular returns the name of one of several things.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ies") && len(name) > 4:
		return name[:len(name)-3] + "y"
	case strings.HasSuffix(name, "ss"), !strings.HasSuffix(name, "s"), len(name) < 3:
		return name
	}
	return name[:len(name)-1]
}

// literal returns a string of Turtle.
func literal(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + `"`
}
