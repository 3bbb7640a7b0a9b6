//go:build wasip1

// Command spy is a WebAssembly module that looks around, and tells with the reason of
// its failure what it found:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o spy.wasm .
//
// With the parameter panic it panics.
package main

import (
	"os"
	"strconv"
	"time"
	"unsafe"
)

//go:wasmimport flcollect1 gather
func gather()

//go:wasmimport flcollect1 param_number
func paramNumber(name unsafe.Pointer, length int32, otherwise float64) float64

//go:wasmimport flcollect1 fail
func fail(text unsafe.Pointer, length int32)

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(dst unsafe.Pointer, length int32) int32

var name = []byte("panic")

func wanted() bool { return paramNumber(unsafe.Pointer(&name[0]), int32(len(name)), 0) != 0 }

//go:wasmexport fl_setup
func setup() int32 {
	gather()
	wanted()
	return 0
}

//go:wasmexport fl_finish
func finish() int32 {
	if wanted() {
		panic("as it was told")
	}
	_, read := os.ReadFile("/etc/hostname")
	_, list := os.ReadDir("/")
	write := os.WriteFile("spy.txt", []byte("was here"), 0o600)
	var random uint64
	randomGet(unsafe.Pointer(&random), int32(unsafe.Sizeof(random)))
	text := []byte("read " + strconv.FormatBool(read == nil) + " list " + strconv.FormatBool(list == nil) +
		" write " + strconv.FormatBool(write == nil) + " environment " + strconv.Itoa(len(os.Environ())) +
		" arguments " + strconv.Itoa(len(os.Args)) + " year " + strconv.Itoa(time.Now().Year()) + " random " +
		strconv.FormatUint(random, 16))
	fail(unsafe.Pointer(&text[0]), int32(len(text)))
	return 1
}

func main() {}
