//go:build wasip1

// Command fedavg is federated averaging as a WebAssembly module in Go:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o fedavg.wasm .
//
// It gathers updates, and sums them in the order of their clients' names, in pieces.
package main

import "unsafe"

//go:wasmimport flcollect1 gather
func gather()

//go:wasmimport flcollect1 tensors
func tensors() int32

//go:wasmimport flcollect1 tensor_len
func tensorLen(tensor int32) int64

//go:wasmimport flcollect1 updates
func updates() int32

//go:wasmimport flcollect1 update_examples
func updateExamples(update int32) int64

//go:wasmimport flcollect1 update_f64
func updateF64(update, tensor int32, from int64, dst unsafe.Pointer, n int32)

//go:wasmimport flcollect1 result_f64
func resultF64(tensor int32, from int64, src unsafe.Pointer, n int32)

//go:wasmexport fl_setup
func setup() int32 {
	gather()
	return 0
}

//go:wasmexport fl_finish
func finish() int32 {
	total := 0.0
	for u := range updates() {
		total += float64(updateExamples(u))
	}
	var sum, values [4096]float64
	for t := range tensors() {
		length := tensorLen(t)
		for from := int64(0); from < length; from += int64(len(sum)) {
			n := int(min(int64(len(sum)), length-from))
			clear(sum[:])
			for u := range updates() {
				updateF64(u, t, from, unsafe.Pointer(&values), int32(n))
				weight := float64(updateExamples(u)) / total
				for i, v := range values[:n] {
					sum[i] += weight * v
				}
			}
			resultF64(t, from, unsafe.Pointer(&sum), int32(n))
		}
	}
	return 0
}

func main() {}
