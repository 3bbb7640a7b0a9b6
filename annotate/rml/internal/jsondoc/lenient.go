package jsondoc

import "strings"

// ParseReference compiles an expression as mappings write it:
//
//   - one that begins with "$" is RFC 9535, as [Parse] reads it;
//   - one that begins with "@" is the same with "@" in the place of "$";
//   - any other is a bare path: member names between dots, taken literally
//     with their spaces, hyphens and other characters up to the next '.' or
//     '[', and bracketed selections of RFC 9535, with or without a dot before
//     them: Name, Country Code, a.b, a[0].b, code.rgba.[*], ['x y'], a..b.
//     The name * is a wildcard.
//
// A member whose name holds a dot or a bracket is written in brackets. The
// error is a *[PathError].
func ParseReference(expr string) (*Path, error) {
	switch {
	case strings.HasPrefix(expr, "$"):
		return parsed(expr, (*parser).strict)
	case strings.HasPrefix(expr, "@"):
		return parsed(expr, (*parser).current)
	}
	return parsed(expr, (*parser).bare)
}

// current parses a whole expression that begins with "@".
func (p *parser) current() query {
	p.at++
	q := p.segments(false)
	p.end()
	return q
}

// bare parses a whole expression that begins with neither "$" nor "@".
func (p *parser) bare() query {
	q := query{singular: true}
	if p.expr == "" {
		p.expected("a path")
	}
	if p.peek() == '[' {
		q.add(segment{selectors: p.brackets()})
	} else {
		q.add(p.bareName(false))
	}
	for p.at < len(p.expr) {
		descendant := p.take("..")
		dotted := descendant || p.take(".")
		switch {
		case p.peek() == '[':
			q.add(segment{descendant: descendant, selectors: p.brackets()})
		case dotted:
			q.add(p.bareName(descendant))
		default:
			p.expected("'.' or '['")
		}
	}
	return q
}

// bareName parses a literal member name or a wildcard.
func (p *parser) bareName(descendant bool) segment {
	start := p.at
	for p.at < len(p.expr) && strings.IndexByte(".[]", p.expr[p.at]) < 0 {
		p.at++
	}
	name := p.expr[start:p.at]
	if name == "" {
		p.expected("a member name")
	}
	if p.peek() == ']' {
		p.fail("unexpected ']' in a member name; a name with brackets is written ['name']")
	}
	s := selector{kind: selectName, slot: -1, name: name}
	if name == "*" {
		s = selector{kind: selectWildcard}
	}
	return segment{descendant: descendant, selectors: []selector{s}}
}
