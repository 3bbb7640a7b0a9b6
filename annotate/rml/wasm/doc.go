// Package wasm runs functions of mappings that are WebAssembly modules, written in any language, in a
// sandbox.
//
// [Compile] checks and compiles a module and asks it which functions it has; [Module.Functions] returns
// them for rml.Options.Functions. A module has access only to what is described here: no files, no
// network, no real clock and no randomness, so that the same message has the same statements everywhere.
// The instructions and the time of every call, the memory of every instance and the size of every
// result are bounded, see [Options]. A call that violates a rule fails its message with an error that
// matches [ErrFailed], names the function and says which rule.
//
// # Instances
//
// A module runs in several instances, so that mappers on several goroutines call it at once. An instance
// that has finished a call is used for another one; after a failure it is discarded. The result of a
// function must depend on its arguments only, and not on earlier calls, which may have been in another
// instance.
//
// # Fuel
//
// Fuel bounds the instructions of a call, counted the same on every machine. An instruction takes a unit, else
// and end take none. Instructions that move, fill or grow memory take another unit for 16
// bytes. A function of the host takes 100 units, and one for 16 bytes that it reads or writes.
//
// # What a module exports
//
//	memory                     the linear memory
//	_initialize()              called first, as WASI wants it of reactors; may be absent
//	rml_describe() i32         describes the functions; called once
//	rml_apply(function i32) i32  applies a function, numbered from 0 in the order of their description
//
// Both return 0 if all went well, and 1 if the call is to fail; the reason is passed to "fail" before.
//
// Modules may import wasi_snapshot_preview1 as compilers for it do: there are no arguments, no
// environment and no files, the clock begins at a fixed time and advances a little whenever it is read,
// random numbers are the same each time, and what is written to the standard error is part of the error
// when a call fails.
//
// # What a module imports
//
// From the module "rmlfunction1", whose name has the version of this interface. Pointers point into the
// memory of the module, and texts are UTF-8 with a length, without a zero at the end. A function that is
// called with invalid arguments, or at another time than described, does not return: the call fails.
//
// At any time:
//
//	fail(text i32, len i32)                   the reason for a return value of 1
//
// In rml_describe, as the Function Ontology (https://fno.io/spec/) describes functions. IRIs are absolute.
//
//	function(iri i32, len i32)                begins the next function
//	parameter(iri i32, len i32, flags i32)    the next parameter of the function. Flags are 1 for a list,
//	                                          of which the function takes all values at once, and 2 for
//	                                          one that may have no value; or their sum
//	name(iri i32, len i32)                    another name of that parameter: its predicate
//	output(iri i32, len i32)                  a name of an output; the first is the default
//	datatype(iri i32, len i32)                a natural datatype of the result, such as that of xsd:integer;
//	                                          the first whose lexical space has the result is taken
//
// In rml_apply:
//
//	values(parameter i32) i32                              how many values the parameter has, numbered from 0
//	value(parameter i32, value i32, dst i32, cap i32) i32  a value, cut to cap; returns the whole length
//	output_asked() i32                                     the number of the output that the mapping names
//	result(text i32, len i32)                              the next value of the result; each becomes a term
package wasm
