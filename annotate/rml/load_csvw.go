package rml

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// csvwProperties are the properties of a csvw:Dialect (https://www.w3.org/TR/tabular-metadata/#dialect-descriptions)
// that the engine reads.
var csvwProperties = map[string]func(d *csvdoc.Dialect, encoding *Encoding, value string) (expected string){
	"delimiter": func(d *csvdoc.Dialect, _ *Encoding, value string) string { return setCharacter(&d.Delimiter, value) },
	"quoteChar": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		if d.NoQuotes = value == ""; d.NoQuotes {
			return ""
		}
		return setCharacter(&d.Quote, value)
	},
	"doubleQuote": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		var doubled bool
		expected := setBool(&doubled, value)
		if !doubled && expected == "" {
			d.Escape = '\\'
		}
		return expected
	},
	"commentPrefix": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		if value == "" {
			return ""
		}
		return setCharacter(&d.Comment, value)
	},
	"header": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		header := true
		expected := setBool(&header, value)
		d.NoHeader = !header
		return expected
	},
	"headerRowCount": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		expected := setCount(&d.HeaderRows, value)
		d.NoHeader = expected == "" && d.HeaderRows == 0
		return expected
	},
	"skipRows": func(d *csvdoc.Dialect, _ *Encoding, value string) string { return setCount(&d.SkipRows, value) },
	"skipBlankRows": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		var skip bool
		expected := setBool(&skip, value)
		if d.Blank = csvdoc.KeepBlankRows; skip {
			d.Blank = csvdoc.SkipBlankRows
		}
		return expected
	},
	"skipInitialSpace": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		var skip bool
		expected := setBool(&skip, value)
		if skip {
			d.Trim = csvdoc.TrimStart
		}
		return expected
	},
	"trim": func(d *csvdoc.Dialect, _ *Encoding, value string) string {
		trim, known := map[string]csvdoc.Trim{
			"true": csvdoc.TrimBoth, "1": csvdoc.TrimBoth, "start": csvdoc.TrimStart, "end": csvdoc.TrimEnd,
			"false": csvdoc.TrimNone, "0": csvdoc.TrimNone,
		}[value]
		if !known {
			return "true, false, start or end"
		}
		d.Trim = trim
		return ""
	},
	"encoding": func(_ *csvdoc.Dialect, encoding *Encoding, value string) string {
		switch strings.ToLower(value) {
		case "utf-8", "utf8", "us-ascii":
			*encoding = UTF8
		case "utf-16":
			*encoding = UTF16
		default:
			return "UTF-8 or UTF-16"
		}
		return ""
	},
	"lineTerminators": func(_ *csvdoc.Dialect, _ *Encoding, value string) string { // each of them ends a line
		if value != "\n" && value != "\r\n" {
			return "a line feed, with or without a carriage return"
		}
		return ""
	},
	"skipColumns": func(_ *csvdoc.Dialect, _ *Encoding, value string) string {
		if value != "0" {
			return "0: columns are not skipped, and may be left unused"
		}
		return ""
	},
}

func setCharacter(c *byte, value string) (expected string) {
	if len(value) != 1 || value[0] >= 0x80 || value == "\n" || value == "\r" {
		return "one ASCII character"
	}
	*c = value[0]
	return ""
}

func setBool(b *bool, value string) (expected string) {
	switch value {
	case "true", "1":
		*b = true
	case "false", "0":
		*b = false
	default:
		return "true or false"
	}
	return ""
}

func setCount(n *int, value string) (expected string) {
	count, err := strconv.Atoi(value)
	if err != nil || count < 0 {
		return "a number of rows"
	}
	*n = count
	return ""
}

// csvw loads what CSVW says of a source: csvw:null and csvw:dialect, and others that the caller reads.
func (l *loader) csvw(r *document.Resource, n node, source *logicalSource, others ...string) error {
	if err := l.knownCSVW(r, n, append(others, "null", "dialect")); err != nil {
		return err
	}
	d := &source.details.dialect
	for _, null := range values(r, document.NamespaceCSVW+"null") {
		d.Null = append(d.Null, null.Value)
	}
	dialects := values(r, document.NamespaceCSVW+"dialect")
	switch {
	case len(dialects) == 0:
		return nil
	case len(dialects) > 1:
		return n.errorf("it has %s: expected at most one", count(len(dialects), "dialect"))
	case source.Formulation != CSV:
		return n.errorf("it has a %s, yet its logical source is not CSV: leave it out", l.Shorten(document.NamespaceCSVW+"dialect"))
	}
	return l.csvwDialect(l.About(dialects[0]), source)
}

// csvwDialect loads a csvw:Dialect.
func (l *loader) csvwDialect(r *document.Resource, source *logicalSource) error {
	n := l.part(r, "dialect", source.node)
	names := slices.Sorted(maps.Keys(csvwProperties)) // trim comes after skipInitialSpace, and counts
	if err := l.knownCSVW(r, n, names); err != nil {
		return err
	}
	if err := l.known(r, n, "dialect"); err != nil {
		return err
	}
	for _, name := range names {
		found := values(r, document.NamespaceCSVW+name)
		if len(found) > 1 && name != "lineTerminators" {
			return n.errorf("it has %d values of %s: expected at most one", len(found), l.Shorten(document.NamespaceCSVW+name))
		}
		for _, t := range found {
			if expected := csvwProperties[name](&source.details.dialect, &source.Encoding, t.Value); expected != "" {
				return n.errorf("its %s is %s: expected %s", l.Shorten(document.NamespaceCSVW+name), l.Write(t), expected)
			}
		}
	}
	if err := source.details.dialect.Validate(); err != nil {
		return n.errorf("%v", err)
	}
	return nil
}

// knownCSVW returns an error for a property of CSVW that the engine does not read.
func (l *loader) knownCSVW(r *document.Resource, n node, names []string) error {
	for _, s := range r.Statements {
		name, ok := strings.CutPrefix(s.Predicate, document.NamespaceCSVW)
		if !ok || slices.Contains(names, name) || s.Predicate == rdf.Type {
			continue
		}
		return n.errorf("%s is not known here: expected one of %s, of %s", l.Shorten(s.Predicate), strings.Join(names, ", "),
			document.NamespaceCSVW)
	}
	return nil
}

// checkDialect returns an error for a dialect of CSV that cannot be read as CARML does.
func (s logicalSource) checkDialect(d Dialect) error {
	if s.Formulation != CSV || d != DialectCARML {
		return nil
	}
	format := s.details.dialect
	format.Lenient = true
	if err := format.Validate(); err != nil {
		return s.node.errorf("its csvw:dialect cannot be read in the dialect carml: %v; choose the dialect rml", err)
	}
	return nil
}
