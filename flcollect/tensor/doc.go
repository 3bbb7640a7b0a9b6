// Package tensor holds the arrays that models consist of, and reads and writes
// them as .npy files, the form in which Flower clients send them, and as files
// of several arrays.
//
// A Tensor is immutable: a type, a shape, and elements in row-major order with
// the low byte first. Its bytes may lie in several chunks, as they came from
// the network; nothing is copied to join them. Who folds or compares tensors
// reads them in pieces with Tensor.Float32s or Tensor.ReadFloat64s, which view
// the bytes where they are aligned and copy a piece where they are not.
//
// Decode takes every version of the .npy format, the numeric types that
// learning uses, Fortran order and either byte order; what is not row-major
// with the low byte first is converted, once, while it is decoded. Arrays of
// Python objects, text, records and complex numbers are refused with the reason.
//
// A whole model is written for Python by WriteNPZ, as numpy.savez does, and by
// WritePickle, as pickle does with a list of arrays. ReadNPZ reads such archives
// within a limit. Pickles are not read: loading one runs what it says.
package tensor
