// Package compress makes the updates of Flower clients smaller, and reads them back.
//
// A client chooses the form, update by update. The collector reads every form, so
// nothing has to be agreed on, and clients that compress train beside clients that do
// not.
//
// # Forms
//
// The type of the parameters, a text beside the tensors, names the form:
//
//	numpy.ndarray     each layer a .npy file. With elements of float16 an update has
//	                  half of the bytes of float32; its numbers are the new weights.
//	enablers.int8/1   each layer the quantized difference to the model
//	enablers.topk/1   each layer the greatest elements of the difference to the model
//
// The difference is that between the trained model and the model that the instruction
// had. The digit after the slash is the version of the form. There are as many blobs as
// the model has layers, in the order of the layers, and each is one or more .npy files
// (NEP 1, any version), one directly after the other:
//
//	one file         the layer itself, new weights and not a difference. Layers of
//	                 integers have this form, and those that would be no shorter.
//	int8: two files  scale and q. q is an array of int8 with the shape of the layer,
//	                 and the difference is scale·q. scale is an array of float16,
//	                 float32 or float64, finite and not negative: of the shape (), or of
//	                 the shape (n,), a number for each of the n rows along the first
//	                 axis of the layer.
//	topk: two files  indices and values, both of the shape (k,). indices are of uint32,
//	                 ascending, each once, and count the elements of the layer in
//	                 row-major order. values are of float16, float32 or float64 and
//	                 finite. Elsewhere the difference is 0.
//
// [Decode] adds the difference to the model in 64-bit floating point and rounds to the
// type of the model's layer. What memory it takes depends on the model alone: an
// update cannot make it larger.
//
// # Error feedback
//
// An [Encoder] keeps what a form cuts off, and adds it to the next update. Without this
// residual top-k has a bias, and small steps are lost for ever under a coarse scale.
//
// # Sources
//
// Structured and sketched updates: Konečný and others 2016, arXiv 1610.05492. Error
// feedback: Seide and others 2014, Interspeech, for one bit; Karimireddy and others 2019,
// arXiv 1901.09847, for any compressor. Top-k with memory: Stich and others 2018, arXiv
// 1809.07599.
package compress
