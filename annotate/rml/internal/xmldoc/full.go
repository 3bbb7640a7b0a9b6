package xmldoc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/antchfx/xpath"
)

// maxSteps is the largest number of moves between nodes, with one more for
// each textStep bytes of text looked at, that evaluating one expression of
// full XPath against one record may take.
const (
	maxSteps = 1 << 24
	textStep = 64
)

// errTooManySteps ends an evaluation that would take too long.
var errTooManySteps = errors.New("the expression takes too many steps on this document")

// compileFull compiles an expression that is not plain for the XPath library.
func (c *Compiler) compileFull(p *path, tokens []token) error {
	full, err := c.translate(p.expr, tokens)
	if err != nil {
		return err
	}
	e, err := compileLibrary(full, c.aliases())
	if err != nil {
		return err
	}
	// The kind of value that an expression has does not depend on the
	// document, so a trial shows it, and some errors that compiling does not.
	trial := c.newDocument()
	if err := trial.Load([]byte("<trial/>")); err != nil {
		return err
	}
	value, err := trial.evaluate(e, trial.top)
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
// those without one, and refuses what is not supported. Without it the
// library would take names without a prefix for names in the default
// namespace, and would find nothing for p:*.
func (c *Compiler) translate(expr string, tokens []token) (string, error) {
	var out strings.Builder
	end := 0
	for _, t := range tokens {
		out.WriteString(expr[end:t.start])
		end = t.end
		switch {
		case t.is("$"):
			return "", errors.New("variables are not supported")
		case t.kind == axisToken && t.text == "namespace":
			return "", errors.New("the namespace axis is not supported")
		case t.kind == typeToken && t.text == "processing-instruction":
			return "", errors.New("processing-instruction() is not supported")
		case t.kind == functionToken && t.prefix != "":
			return "", fmt.Errorf("there is no function %s()", t.text)
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
	return out.String() + expr[end:], nil
}

// expression returns the document's own copy of an expression of the library,
// whose state makes it unfit to be shared.
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

// selectFull is selectNodes for an expression of the library.
func (d *Document) selectFull(p *path, at int32) ([]int32, error) {
	e, err := d.expression(p)
	if err != nil {
		return nil, err
	}
	value, err := d.evaluate(e, at)
	if err != nil {
		return nil, err
	}
	found, ok := value.(*xpath.NodeIterator)
	if !ok {
		return nil, fmt.Errorf("the value is of type %T, expected nodes", value)
	}
	selected, err := d.collect(found, d.work[0][:0])
	d.work[0] = selected
	return selected, err
}

// collect drains an iterator, in document order, each node once.
func (d *Document) collect(found *xpath.NodeIterator, dst []int32) (_ []int32, err error) {
	defer recovered(&err)
	for found.MoveNext() {
		d.spend(1)
		dst = append(dst, found.Current().(*navigator).at)
	}
	slices.Sort(dst)
	return slices.Compact(dst), nil
}

// evaluateScalar returns the text of a value that is not a node set, as
// string() of XPath 1.0 section 4.2 does.
func (d *Document) evaluateScalar(p *path, at int32) ([]byte, error) {
	e, err := d.expression(p)
	if err != nil {
		return nil, err
	}
	value, err := d.evaluate(e, at)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case string:
		return append(empty, v...), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	case float64:
		switch {
		case math.IsInf(v, 0):
			return []byte(strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+") + "inity"), nil
		case v == 0:
			return []byte("0"), nil // also negative zero
		}
		return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
	}
	return nil, fmt.Errorf("the value is of type %T, expected a string, a number or a boolean", value)
}

// evaluate evaluates an expression within the limit of steps.
func (d *Document) evaluate(e *xpath.Expr, at int32) (value any, err error) {
	d.left = maxSteps
	if len(d.previous) == 0 {
		d.linkPrevious()
	}
	defer recovered(&err)
	return e.Evaluate(&navigator{d, at}), nil
}

// recovered turns a panic of the library, or of a navigator that has taken
// too many steps, into an error.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = r
	default:
		*err = fmt.Errorf("%v", r)
	}
}

// spend takes steps off those left.
func (d *Document) spend(steps int) {
	if d.left -= steps; d.left < 0 {
		panic(errTooManySteps)
	}
}
