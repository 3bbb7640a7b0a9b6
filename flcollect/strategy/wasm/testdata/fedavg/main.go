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
	var sum, values [pieceLen]float64
	for t := range tensors() {
		length := tensorLen(t)
		for from := int64(0); from < length; from += int64(len(sum)) {
			n := int(min(int64(len(sum)), length-from))
			clear(sum[:])
			clear(values[n:])
			for u := range updates() {
				updateF64(u, t, from, unsafe.Pointer(&values), int32(n))
				add(&sum, &values, float64(updateExamples(u))/total)
			}
			resultF64(t, from, unsafe.Pointer(&sum), int32(n))
		}
	}
	return 0
}

// pieceLen is how many elements are summed at a time.
const pieceLen = 1 << 14

// add adds a piece to the sum. Sixteen elements at a time, for each turn of a loop is
// counted.
func add(sum, values *[pieceLen]float64, weight float64) {
	for i := 0; i < pieceLen; i += 16 {
		s, v := (*[16]float64)(sum[i:]), (*[16]float64)(values[i:])
		s[0] += weight * v[0]
		s[1] += weight * v[1]
		s[2] += weight * v[2]
		s[3] += weight * v[3]
		s[4] += weight * v[4]
		s[5] += weight * v[5]
		s[6] += weight * v[6]
		s[7] += weight * v[7]
		s[8] += weight * v[8]
		s[9] += weight * v[9]
		s[10] += weight * v[10]
		s[11] += weight * v[11]
		s[12] += weight * v[12]
		s[13] += weight * v[13]
		s[14] += weight * v[14]
		s[15] += weight * v[15]
	}
}

func main() {}
