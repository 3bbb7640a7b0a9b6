package pickle

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// reduceNumPy returns the result of a function of NumPy, or nil if the function
// is not supported.
func (m *machine) reduceNumPy(called global, arguments tuple) any {
	switch {
	case called.name == "_reconstruct" && len(arguments) == 3:
		if arguments[0] == any(global{"numpy", "ndarray"}) {
			return &array{}
		}
	case called.name == "dtype" && len(arguments) == 3:
		if letters, ok := arguments[0].(string); ok && plainType(letters) {
			return &dtype{letters: letters, order: "|"}
		}
	case called.name == "_frombuffer" && len(arguments) == 4:
		made := &array{}
		kind, ok := arguments[1].(*dtype)
		if ok && m.fill(made, arguments[2], kind, arguments[3] == "F", arguments[0]) {
			return made
		}
	}
	return nil
}

// plainType reports whether a type is a letter and a number of bytes.
func plainType(letters string) bool {
	return len(letters) == 2 && strings.Contains("biufV", letters[:1]) && letters[1] >= '1' && letters[1] <= '8'
}

// buildDType reads the state of a type: version, order, three values that are
// None for plain types, and derived values.
func (m *machine) buildDType(d *dtype, state any) bool {
	parts, ok := state.(tuple)
	if !ok || len(parts) < 8 || parts[2] != nil || parts[3] != nil || parts[4] != nil {
		return false
	}
	order, ok := parts[1].(string)
	if !ok || len(order) != 1 || !strings.Contains("<>|", order) {
		return false
	}
	d.order = order
	return true
}

// buildArray reads the state of an array: version, shape, type, whether it is in
// Fortran order, and the elements.
func (m *machine) buildArray(a *array, state any) bool {
	parts, ok := state.(tuple)
	if !ok || len(parts) != 5 || a.built {
		return false
	}
	kind, ok := parts[2].(*dtype)
	fortran, isTruth := parts[3].(bool)
	return ok && isTruth && m.fill(a, parts[1], kind, fortran, parts[4])
}

// fill makes the array. It uses the reader of .npy files, which handles types,
// orders and sizes.
func (m *machine) fill(a *array, shape any, kind *dtype, fortran bool, elements any) bool {
	axes, ok := shape.(tuple)
	data, isBytes := elements.([]byte)
	if !ok || !isBytes || len(axes) > 64 {
		return false
	}
	var text strings.Builder
	for _, axis := range axes {
		n, ok := axis.(int64)
		if !ok || n < 0 {
			return false
		}
		fmt.Fprintf(&text, "%d, ", n)
	}
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': %s, 'shape': (%s), }\n", kind.order, kind.letters,
		order, text.String())
	if !m.spend(len(data)) {
		return false
	}
	file := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(file[8:], uint16(len(header)))
	made, err := tensor.Decode(append(file, header...), data)
	if err != nil {
		m.fail("an array is not read: %w", err)
		return false
	}
	a.tensor, a.built = made, true
	return true
}
