package wasmfuel

// Gauge returns the module with the variable for its fuel and without any charge. Benchmarks compare
// it with what [Meter] returns.
func Gauge(module []byte, names Names) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	globals := &reader{data: sections[sectionGlobal]}
	number := count(globals)
	sections[sectionGlobal] = appendVector(nil, int(number)+1,
		append(append([]byte{}, globals.data...), typeI64, 1, opI64Const, 0, opEnd))
	exports := &reader{data: sections[sectionExport]}
	all := count(exports)
	name := appendVector(append([]byte{}, exports.data...), len(names.Fuel), []byte(names.Fuel))
	sections[sectionExport] = appendVector(nil, int(all)+1, appendU32(append(name, 3), number))
	return join(sections), nil
}
