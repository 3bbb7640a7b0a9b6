package pickle

// collect runs the instructions that make lists, tuples and dicts.
func (m *machine) collect(op byte) {
	switch op {
	case opEmptyList:
		m.push(&list{})
	case opList:
		m.push(&list{items: m.popMark()})
	case opEmptyTuple:
		m.push(tuple{})
	case opTuple:
		m.push(tuple(m.popMark()))
	case opTuple1, opTuple2, opTuple3:
		made := make(tuple, op-opTuple1+1)
		for i := range made {
			made[len(made)-1-i] = m.pop()
		}
		m.push(made)
	case opEmptyDict:
		m.push(&dict{items: map[string]any{}})
	case opDict:
		d := &dict{items: map[string]any{}}
		m.set(d, m.popMark())
		m.push(d)
	}
}

// extend runs the instructions that add to lists and dicts.
func (m *machine) extend(op byte) {
	var values []any
	switch op {
	case opAppend:
		values = []any{m.pop()}
	case opSetItem:
		value := m.pop()
		values = []any{m.pop(), value}
	default:
		values = m.popMark()
	}
	into := m.pop()
	m.push(into)
	switch d := into.(type) {
	case foreign:
		return
	case *list:
		if op == opAppend || op == opAppends {
			d.items = append(d.items, values...)
			return
		}
	case *dict:
		if op == opSetItem || op == opSetItems {
			m.set(d, values)
			return
		}
	}
	m.fail("items are added to %s", describe(into))
}

// set adds pairs to a dict.
func (m *machine) set(d *dict, pairs []any) {
	if len(pairs)%2 != 0 {
		m.fail("a key has no value")
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			m.fail("a key is %s, and no text", describe(pairs[i]))
			return
		}
		d.items[key] = pairs[i+1]
	}
}

// global runs the instructions that name a class or function.
func (m *machine) global(op byte) {
	var g global
	if op == opGlobal {
		g.module = m.line(maxLine)
		if m.err == nil {
			g.name = m.line(maxLine)
		}
	} else {
		name, isText := m.pop().(string)
		module, both := m.pop().(string)
		if !isText || !both {
			m.fail("a name is no text")
			return
		}
		g = global{module, name}
	}
	if m.err != nil {
		return
	}
	if findFamily(g) == nil && !inert(g) {
		m.push(foreign{name: g})
		return
	}
	m.push(g)
}

// inert reports whether an uninterpreted name is allowed although it is not the
// class of a strategy.
func inert(g global) bool {
	switch g {
	case global{"copy_reg", "_reconstructor"}, global{"copyreg", "_reconstructor"},
		global{"__builtin__", "object"}, global{"builtins", "object"},
		global{"__builtin__", "bytes"}, global{"builtins", "bytes"},
		global{"_codecs", "encode"},
		global{"flwr.common.typing", "Parameters"}, global{"flwr.compat.common.typing", "Parameters"},
		global{"numpy", "ndarray"}, global{"numpy", "dtype"},
		global{"numpy.core.multiarray", "_reconstruct"}, global{"numpy._core.multiarray", "_reconstruct"},
		global{"numpy.core.numeric", "_frombuffer"}, global{"numpy._core.numeric", "_frombuffer"},
		aggregateKrum, selectMultiKrum:
		return true
	}
	return false
}

// make runs the instructions that call a function, and makes the result.
func (m *machine) make(op byte) {
	arguments, ok := m.pop().(tuple)
	callee := m.pop()
	if m.err != nil {
		return
	}
	if unknown, ok := callee.(foreign); ok {
		m.push(foreign{unknown.name, true})
		return
	}
	called, isGlobal := callee.(global)
	if !ok || !isGlobal {
		m.fail("%s is called", describe(callee))
		return
	}
	var made any
	switch {
	case op == opNewObj && len(arguments) == 0 && isClass(called):
		made = &object{class: called}
	case op == opReduce:
		made = m.reduce(called, arguments)
	}
	if made == nil {
		m.fail("global %q is called, which is not done here", called.String())
		return
	}
	m.push(made)
}

// isClass reports whether a name is a class whose objects are supported.
func isClass(g global) bool { return findFamily(g) != nil || g.name == "Parameters" }

// reduce returns the result of a function, or nil if the function is not
// supported.
func (m *machine) reduce(called global, arguments tuple) any {
	switch called.name {
	case "_reconstructor": // class, base, state
		if len(arguments) == 3 && arguments[2] == nil {
			if unknown, ok := arguments[0].(foreign); ok {
				return foreign{unknown.name, true}
			}
			base, _ := arguments[1].(global)
			if class, ok := arguments[0].(global); ok && isClass(class) && base.name == "object" {
				return &object{class: class}
			}
		}
	case "encode": // text, encoding
		if len(arguments) == 2 && arguments[1] == "latin1" {
			if text, ok := arguments[0].(string); ok {
				return m.latin1(text)
			}
		}
	case "bytes":
		if len(arguments) == 0 {
			return []byte{}
		}
	case "_reconstruct", "dtype", "_frombuffer":
		return m.reduceNumPy(called, arguments)
	}
	return nil
}

// latin1 returns the bytes that a text stands for in protocols without bytes.
func (m *machine) latin1(text string) any {
	if !m.spend(len(text)) {
		return nil
	}
	raw := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			m.fail("bytes hold U+%04X", r)
			return nil
		}
		raw = append(raw, byte(r))
	}
	return raw
}

// build sets the attributes of an object.
func (m *machine) build() {
	state := m.pop()
	into := m.pop()
	m.push(into)
	if m.err != nil {
		return
	}
	switch v := into.(type) {
	case foreign:
		return
	case *object:
		attributes, ok := state.(*dict)
		if ok && v.state == nil {
			v.state = attributes
			return
		}
	case *dtype:
		if m.buildDType(v, state) {
			return
		}
	case *array:
		if m.buildArray(v, state) {
			return
		}
	}
	m.fail("%s does not become %s", describe(into), describe(state))
}
