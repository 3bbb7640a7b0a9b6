//go:build wasip1

// Command momentum is server momentum as a WebAssembly module:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o momentum.wasm .
//
// It gathers updates and reads them in the order of their clients' names, in pieces,
// so neither does its memory grow with them nor its result depend on who is first.
package main

import "unsafe"

//go:wasmimport flcollect1 param_number
func paramNumber(name unsafe.Pointer, length int32, otherwise float64) float64

//go:wasmimport flcollect1 gather
func gather()

//go:wasmimport flcollect1 tensors
func tensors() int32

//go:wasmimport flcollect1 tensor_len
func tensorLen(tensor int32) int64

//go:wasmimport flcollect1 model_f64
func modelF64(tensor int32, from int64, dst unsafe.Pointer, n int32)

//go:wasmimport flcollect1 updates
func updates() int32

//go:wasmimport flcollect1 update_examples
func updateExamples(update int32) int64

//go:wasmimport flcollect1 update_f64
func updateF64(update, tensor int32, from int64, dst unsafe.Pointer, n int32)

//go:wasmimport flcollect1 state_len
func stateLen() int64

//go:wasmimport flcollect1 state_read
func stateRead(from int64, dst unsafe.Pointer, n int32)

//go:wasmimport flcollect1 state_write
func stateWrite(src unsafe.Pointer, n int32)

//go:wasmimport flcollect1 result_f64
func resultF64(tensor int32, from int64, src unsafe.Pointer, n int32)

// momentum is the parameter of the job.
func momentum() float64 {
	name := "momentum"
	return paramNumber(unsafe.Pointer(unsafe.StringData(name)), int32(len(name)), 0.9)
}

//go:wasmexport fl_setup
func setup() int32 {
	momentum() // a job with a parameter that setup does not read fails
	gather()
	return 0
}

//go:wasmexport fl_finish
func finish() int32 {
	share, total, at := momentum(), 0.0, int64(0)
	for u := range updates() {
		total += float64(updateExamples(u))
	}
	var model, mean, update, velocity [4096]float64
	for t := range tensors() {
		length := tensorLen(t)
		for from := int64(0); from < length; from += int64(len(model)) {
			n := int(min(int64(len(model)), length-from))
			modelF64(t, from, unsafe.Pointer(&model), int32(n))
			if stateLen() > 0 {
				stateRead(8*at, unsafe.Pointer(&velocity), int32(8*n))
			}
			clear(mean[:])
			for u := range updates() {
				updateF64(u, t, from, unsafe.Pointer(&update), int32(n))
				weight := float64(updateExamples(u)) / total
				for i := range n {
					mean[i] += weight * update[i]
				}
			}
			for i := range n {
				velocity[i] = share*velocity[i] + mean[i] - model[i]
				model[i] += velocity[i]
			}
			stateWrite(unsafe.Pointer(&velocity), int32(8*n))
			resultF64(t, from, unsafe.Pointer(&model), int32(n))
			at += int64(n)
		}
	}
	return 0
}

func main() {}
