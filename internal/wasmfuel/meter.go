package wasmfuel

import (
	"errors"
	"fmt"
)

// Bounds of the declarations of a module, which the runtime would trust.
const (
	maxTable    = 1 << 20   // elements of tables
	maxFunction = 512 << 10 // bytes of one function
	maxSegments = 16 << 10  // of code of one function; compiling it takes seconds, and twice as many four times as long
	maxBreadth  = 1 << 20   // sum over these segments of the variables and values that may be in use there; likewise
	maxLocals   = 4096      // variables of one function; likewise
	maxItems    = 100_000   // of a section, such as functions
	maxArity    = 1000      // parameters of a type, and results, as in browsers
	maxTables   = 1
)

// Names are the names of a program in the modules that it meters. Its modules must not use that of
// the fuel.
type Names struct {
	// Host is the module with the functions of the host. These charge for themselves with what they
	// do; every other import is charged a fixed cost.
	Host string
	// Fuel is the imported module that has the function [Refuel], and the exported global variable
	// with the fuel, an i64.
	Fuel string
}

// Refuel is the function that a metered module calls when its fuel is negative. It sets the variable
// to a number that is not negative, or ends the call.
const Refuel = "refuel"

// foreignCost is the additional cost of a call of an import that is not a
// function of the host.
const foreignCost = 100

// meter rewrites a module so that it counts its instructions, see [Meter].
type meter struct {
	names   Names
	types   []functionType
	imports []importedFunction
	defined uint32   // functions
	kinds   []uint32 // their types
	globals uint32
}

type functionType struct{ params, results []byte }

// importedFunction is an import. One that is not of the host is called by a wrapper.
type importedFunction struct {
	kind    uint32 // its type
	foreign bool
	wrapper uint32
}

// Meter returns the module with instructions that count its instructions. They
// subtract the cost of each segment from a global variable, and call an imported
// function of the host when it is negative. That function provides more fuel or
// ends the call. Instructions that move or create any number of bytes or elements
// are charged by that number. The variable comes after those of the module and the
// new functions after its own, save for the import, which has the functions of the
// module one number higher. The same module becomes the same bytes.
//
// It returns an error for a module that violates the format or a bound. The compiler
// checks the rest: metering does not turn an invalid module into a valid one.
func Meter(module []byte, names Names) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	m := meter{names: names}
	rewrite := map[byte]func(r *reader) []byte{
		sectionType: m.typeSection, sectionImport: m.importSection, sectionFunction: m.functionSection,
		sectionTable: m.tableSection, sectionGlobal: m.globalSection, sectionExport: m.exportSection,
		sectionStart: m.startSection, sectionElement: m.elementSection, sectionCode: m.codeSection, sectionData: m.dataSection,
	}
	for _, id := range order() {
		if f := rewrite[id]; f != nil {
			r := &reader{data: sections[id]}
			sections[id] = f(r)
			if r.err == nil && len(r.data) > 0 {
				r.fail(errors.New("bytes after its end"))
			}
			if r.err != nil {
				return nil, fmt.Errorf("section %d: %w", id, r.err)
			}
		}
	}
	return join(sections), nil
}

// count reads the number of items of a section, which may be missing.
func count(r *reader) uint32 {
	if r.data == nil {
		return 0
	}
	n := r.u32()
	if n > maxItems {
		r.fail(fmt.Errorf("it has %d items, more than %d", n, maxItems))
		return 0
	}
	return n
}

func (m *meter) typeSection(r *reader) []byte {
	var body []byte
	for n := count(r); n > 0 && r.err == nil; n-- {
		if r.byte() != typeFunc {
			r.fail(errors.New("a type that is of no function"))
		}
		var t functionType
		t.params = r.take(uint64(r.u32()))
		t.results = r.take(uint64(r.u32()))
		if most := max(len(t.params), len(t.results)); most > maxArity {
			r.fail(fmt.Errorf("a type has %d parameters or results, more than %d", most, maxArity))
		}
		m.types = append(m.types, t)
		body = appendType(body, t)
	}
	// The types of refuel, and of the functions that charge by size.
	body = appendType(body, functionType{})
	body = appendType(body, functionType{params: []byte{typeI32}, results: []byte{typeI32}})
	return appendVector(nil, len(m.types)+2, body)
}

func appendType(to []byte, t functionType) []byte {
	to = appendVector(append(to, typeFunc), len(t.params), t.params)
	return appendVector(to, len(t.results), t.results)
}

func (m *meter) importSection(r *reader) []byte {
	var body []byte
	for n := count(r); n > 0 && r.err == nil; n-- {
		from := r.take(uint64(r.u32()))
		name := r.take(uint64(r.u32()))
		if kind := r.byte(); kind != 0 && r.err == nil {
			r.fail(errors.New("it imports what is no function"))
		}
		if string(from) == m.names.Fuel {
			r.fail(fmt.Errorf("it imports %q", from))
		}
		f := importedFunction{kind: m.typeIndex(r), foreign: string(from) != m.names.Host}
		m.imports = append(m.imports, f)
		body = appendVector(body, len(from), from)
		body = appendVector(body, len(name), name)
		body = appendU32(append(body, 0), f.kind)
	}
	body = appendVector(body, len(m.names.Fuel), []byte(m.names.Fuel))
	body = appendVector(body, len(Refuel), []byte(Refuel))
	body = appendU32(append(body, 0), uint32(len(m.types)))
	return appendVector(nil, len(m.imports)+1, body)
}

func (m *meter) functionSection(r *reader) []byte {
	var body []byte
	for n := count(r); n > 0 && r.err == nil; n-- {
		kind := m.typeIndex(r)
		body = appendU32(body, kind)
		m.kinds = append(m.kinds, kind)
		m.defined++
	}
	next := m.refuel() + 1 + m.defined
	for range helpers {
		body = appendU32(body, uint32(len(m.types))+1)
		next++
	}
	for i := range m.imports {
		if f := &m.imports[i]; f.foreign {
			f.wrapper = next
			body = appendU32(body, f.kind)
			next++
		}
	}
	return appendVector(nil, int(next-m.refuel()-1), body)
}

func (m *meter) tableSection(r *reader) []byte {
	if r.data == nil {
		return nil
	}
	n := r.u32()
	if n > maxTables {
		r.fail(fmt.Errorf("it has %d tables, more than %d", n, maxTables))
	}
	to := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		to = append(to, r.byte()) // the type of the elements
		limited := r.byte()
		least := r.u32()
		if least > maxTable {
			r.fail(fmt.Errorf("a table has %d elements, more than %d", least, maxTable))
		}
		to = appendU32(append(to, limited), least)
		if limited > 1 && r.err == nil {
			r.fail(errors.New("a table with limits of another kind"))
		} else if limited == 1 {
			to = appendU32(to, r.u32())
		}
	}
	return to
}

func (m *meter) globalSection(r *reader) []byte {
	var body []byte
	for n := count(r); n > 0 && r.err == nil; n-- {
		kind, mutable := r.byte(), r.byte()
		body = m.constant(r, append(body, kind, mutable))
		m.globals++
	}
	body = append(body, typeI64, 1, opI64Const, 0, opEnd)
	return appendVector(nil, int(m.globals)+1, body)
}

func (m *meter) exportSection(r *reader) []byte {
	var body []byte
	n := count(r)
	all := n
	for ; n > 0 && r.err == nil; n-- {
		name := r.take(uint64(r.u32()))
		if string(name) == m.names.Fuel {
			r.fail(fmt.Errorf("it exports %q", name))
		}
		kind := r.byte()
		body = append(appendVector(body, len(name), name), kind)
		switch kind {
		case 0:
			body = appendU32(body, m.renamed(r))
		case 3:
			body = appendU32(body, m.global(r))
		default:
			body = appendU32(body, r.u32())
		}
	}
	body = appendVector(body, len(m.names.Fuel), []byte(m.names.Fuel))
	body = appendU32(append(body, 3), m.globals)
	return appendVector(nil, int(all)+1, body)
}

func (m *meter) startSection(r *reader) []byte {
	if r.data == nil {
		return nil
	}
	return appendU32(nil, m.renamed(r))
}

// elementSection rewrites the segments of tables, whose form is in three bits:
// not of the table from the start, with a table of its own or declared only, and
// expressions in place of numbers of functions.
func (m *meter) elementSection(r *reader) []byte {
	if r.data == nil {
		return nil
	}
	n := count(r)
	to := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		form := r.u32()
		if form > 7 {
			r.fail(fmt.Errorf("a segment of form %d", form))
		}
		to = appendU32(to, form)
		if form&3 == 2 {
			to = appendU32(to, r.u32()) // the table
		}
		if form&1 == 0 {
			to = m.constant(r, to) // where it begins
		}
		if form&3 != 0 {
			to = append(to, r.byte()) // the type or the kind
		}
		items := r.u32()
		to = appendU32(to, items)
		for ; items > 0 && r.err == nil; items-- {
			if form&4 != 0 {
				to = m.constant(r, to)
			} else {
				to = appendU32(to, m.renamed(r))
			}
		}
	}
	return to
}

func (m *meter) codeSection(r *reader) []byte {
	var body []byte
	n := count(r)
	all := n
	for k := uint32(0); k < n && r.err == nil; k++ {
		size := r.u32()
		if size > maxFunction {
			r.fail(fmt.Errorf("function %d has %d bytes, more than %d", k, size, maxFunction))
		}
		if k >= m.defined {
			break // reported below
		}
		params, _ := m.types[m.kinds[k]].arity()
		code, err := m.meterBody(r.take(uint64(size)), params)
		if err != nil && r.err == nil {
			r.fail(fmt.Errorf("function %d: %w", k, err))
		}
		body = appendVector(body, len(code), code)
	}
	if all != m.defined && r.err == nil {
		r.fail(fmt.Errorf("%d functions of %d that are declared", all, m.defined))
	}
	added := func(code []byte) {
		body = appendVector(body, len(code), code)
		all++
	}
	for kind := range helpers {
		added(m.helperBody(kind))
	}
	for i := range m.imports {
		if m.imports[i].foreign {
			added(m.wrapperBody(uint32(i)))
		}
	}
	return appendVector(nil, int(all), body)
}

func (m *meter) dataSection(r *reader) []byte {
	if r.data == nil {
		return nil
	}
	n := count(r)
	to := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		form := r.u32()
		if form > 2 {
			r.fail(fmt.Errorf("a segment of form %d", form))
		}
		to = appendU32(to, form)
		if form == 2 {
			to = appendU32(to, r.u32()) // the memory
		}
		if form != 1 {
			to = m.constant(r, to)
		}
		data := r.take(uint64(r.u32()))
		to = appendVector(to, len(data), data)
	}
	return to
}
