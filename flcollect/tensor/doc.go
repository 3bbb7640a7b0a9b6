// Package tensor holds the arrays that models consist of, and reads and writes
// them as .npy files, the form in which Flower clients send them, and as files
// of several arrays.
//
// A Tensor is immutable: a type, a shape, and elements in row-major,
// little-endian order. Its bytes may be in several chunks, as they arrived from
// the network; they are not copied to join them. Read the elements in pieces
// with Tensor.Float32s or Tensor.ReadFloat64s, which return views of aligned
// bytes and copies of others.
//
// Decode reads every version of the .npy format, the numeric types of machine
// learning, Fortran order and either byte order; other than row-major,
// little-endian elements are converted once while they are decoded. Arrays of
// Python objects, text, records and complex numbers are an error that has the
// reason.
//
// A whole model is written for Python by WriteNPZ, as numpy.savez does, and by
// WritePickle, as pickle does with a list of arrays. ReadNPZ reads such archives
// within a limit. Pickles are not read here; see package strategy/pickle.
package tensor
