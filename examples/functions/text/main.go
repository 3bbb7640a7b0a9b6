//go:build wasip1

// Command text has functions for mappings, as a WebAssembly module:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o text.wasm .
//
// The package annotate/rml/wasm describes what a module imports and exports.
package main

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

//go:wasmimport rmlfunction1 function
func hostFunction(iri unsafe.Pointer, length int32)

//go:wasmimport rmlfunction1 parameter
func hostParameter(iri unsafe.Pointer, length, flags int32)

//go:wasmimport rmlfunction1 output
func hostOutput(iri unsafe.Pointer, length int32)

//go:wasmimport rmlfunction1 datatype
func hostDatatype(iri unsafe.Pointer, length int32)

//go:wasmimport rmlfunction1 value
func hostValue(parameter, value int32, dst unsafe.Pointer, room int32) int32

//go:wasmimport rmlfunction1 result
func hostResult(text unsafe.Pointer, length int32)

//go:wasmimport rmlfunction1 fail
func hostFail(text unsafe.Pointer, length int32)

const namespace = "http://example.com/functions#"

// functions are the functions of the module, each of one text.
var functions = []struct {
	name, datatype string
	apply          func(text string) (string, error)
}{
	{"upper", "", func(text string) (string, error) { return strings.ToUpper(text), nil }},
	{"hundredths", "http://www.w3.org/2001/XMLSchema#decimal", hundredths},
}

// hundredths reads a number that counts hundredths, such as the "3902" of a station that sends no points.
func hundredths(text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("%q is not a whole number", text)
	}
	return strconv.FormatFloat(float64(n)/100, 'f', -1, 64), nil
}

//go:wasmexport rml_describe
func describe() int32 {
	pass := func(to func(unsafe.Pointer, int32), iri string) {
		to(unsafe.Pointer(unsafe.StringData(iri)), int32(len(iri)))
	}
	for _, f := range functions {
		pass(hostFunction, namespace+f.name)
		pass(func(iri unsafe.Pointer, length int32) { hostParameter(iri, length, 0) }, namespace+"text")
		pass(hostOutput, namespace+f.name+"Out")
		if f.datatype != "" {
			pass(hostDatatype, f.datatype)
		}
	}
	return 0
}

//go:wasmexport rml_apply
func apply(function int32) int32 {
	room := make([]byte, 4096)
	length := hostValue(0, 0, unsafe.Pointer(&room[0]), int32(len(room)))
	if int(length) > len(room) {
		room = make([]byte, length)
		hostValue(0, 0, unsafe.Pointer(&room[0]), length)
	}
	result, err := functions[function].apply(string(room[:length]))
	if err != nil {
		reason := err.Error()
		hostFail(unsafe.Pointer(unsafe.StringData(reason)), int32(len(reason)))
		return 1
	}
	hostResult(unsafe.Pointer(unsafe.StringData(result)), int32(len(result)))
	return 0
}

func main() {}
