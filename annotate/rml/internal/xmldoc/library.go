package xmldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/antchfx/xpath"
)

// misread are the tokens of expressions that the library evaluates differently
// from XPath: after a predicate it goes on from the wrong node and counts
// positions across parents, the nodes of unions and of some axes come out of
// order, and comparisons may look at the first node only.
var misread = []string{
	"[", "|", "=", "!=", "<", "<=", ">", ">=",
	"ancestor", "ancestor-or-self", "following", "following-sibling", "preceding", "preceding-sibling",
}

// compileBeyond compiles an expression that calls a function XPath 1.0 does not
// have, for the XPath library, which has some of those of XPath 2.0. It returns
// an error for expressions that the library is known to evaluate wrongly.
func (c *Compiler) compileBeyond(p *path, tokens []token, function string) error {
	for _, t := range tokens {
		if (t.kind <= operatorToken || t.kind == axisToken) && slices.Contains(misread, t.text) {
			return fmt.Errorf("%s() is not of XPath 1.0 and cannot stand in one expression with %s", function, t.text)
		}
	}
	full, err := c.translate(tokens)
	if err != nil {
		return err
	}
	e, err := compileLibrary(full, c.aliases())
	if err != nil {
		return err
	}
	// The kind of value that an expression has does not depend on the document, so
	// a trial evaluation shows it, and some errors that compiling does not show.
	trial := c.newDocument()
	if err := trial.Load([]byte("<trial/>")); err != nil {
		return err
	}
	value, err := trial.evaluateWithLibrary(e, trial.top)
	if err != nil {
		return err
	}
	_, nodes := value.(*xpath.NodeIterator)
	p.full, p.scalar = full, !nodes
	return nil
}

// compileLibrary compiles a translated expression; the library panics on some.
func compileLibrary(full string, aliases map[string]string) (e *xpath.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return xpath.CompileWithNS(full, aliases)
}

// alias is the prefix of a namespace in translated expressions.
func alias(space int32) string { return "n" + strconv.Itoa(int(space)) }

// aliases returns the namespaces by alias.
func (c *Compiler) aliases() map[string]string {
	m := make(map[string]string, len(c.spaces))
	for i, iri := range c.spaces {
		m[alias(int32(i))] = iri
	}
	return m
}

// translate gives every name test of an expression an alias as prefix, also
// those without one. Without it the library would take names without a prefix
// for names in the default namespace, and would find nothing for p:*.
func (c *Compiler) translate(tokens []token) (string, error) {
	var out strings.Builder
	for i, t := range tokens {
		if i > 0 && t.start > tokens[i-1].end {
			out.WriteByte(' ')
		}
		switch {
		case t.kind != nameToken || t.text == "*":
			out.WriteString(t.text)
		case t.local != "*":
			out.WriteString(alias(c.prefixes[t.prefix]) + ":" + t.local)
		default:
			iri := c.spaces[c.prefixes[t.prefix]]
			if strings.Contains(iri, `"`) {
				return "", fmt.Errorf("%s cannot be used, for the namespace <%s> holds a quote", t.text, iri)
			}
			out.WriteString(`*[namespace-uri()="` + iri + `"]`)
		}
	}
	return out.String(), nil
}

// expression returns the document's own copy of an expression of the library,
// whose state cannot be shared.
func (d *Document) expression(p *path) (*xpath.Expr, error) {
	if e := d.full[p.id]; e != nil {
		return e, nil
	}
	d.compiler.mu.Lock()
	aliases := d.compiler.aliases()
	d.compiler.mu.Unlock()
	e, err := compileLibrary(p.full, aliases)
	if err != nil {
		return nil, err
	}
	if d.full == nil {
		d.full = map[int]*xpath.Expr{}
	}
	d.full[p.id] = e
	return e, nil
}

// libraryNodes evaluates an expression with the library and returns its nodes.
func (d *Document) libraryNodes(p *path, at int32, dst []int32) (_ []int32, err error) {
	value, err := d.libraryValue(p, at)
	if err != nil {
		return nil, err
	}
	found, ok := value.(*xpath.NodeIterator)
	if !ok {
		return nil, fmt.Errorf("the value is of type %T, expected nodes", value)
	}
	defer recovered(&err)
	for found.MoveNext() {
		d.spend(1)
		dst = append(dst, found.Current().(*navigator).at)
	}
	slices.Sort(dst)
	return slices.Compact(dst), nil
}

// libraryString evaluates an expression with the library and returns its value,
// which is not a node set, as a string.
func (d *Document) libraryString(p *path, at int32) (string, error) {
	value, err := d.libraryValue(p, at)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return formatNumber(v), nil
	}
	return "", fmt.Errorf("the value is of type %T, expected a string, a number or a boolean", value)
}

// libraryValue evaluates a path's expression with the library.
func (d *Document) libraryValue(p *path, at int32) (any, error) {
	e, err := d.expression(p)
	if err != nil {
		return nil, err
	}
	return d.evaluateWithLibrary(e, at)
}

// evaluateWithLibrary evaluates an expression with the library, within the limit of steps.
func (d *Document) evaluateWithLibrary(e *xpath.Expr, at int32) (value any, err error) {
	d.allow()
	if len(d.previous) == 0 {
		d.linkPrevious()
	}
	defer recovered(&err)
	return e.Evaluate(&navigator{d, at}), nil
}
