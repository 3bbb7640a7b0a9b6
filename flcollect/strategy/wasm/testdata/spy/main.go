//go:build wasip1

// Command spy is a WebAssembly module that looks around, and tells with the reason of
// its failure what it found:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o spy.wasm .
//
// With the parameter panic it panics.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"
	"unsafe"
)

//go:wasmimport flcollect1 gather
func gather()

//go:wasmimport flcollect1 param_number
func paramNumber(name unsafe.Pointer, length int32, otherwise float64) float64

//go:wasmimport flcollect1 fail
func fail(text unsafe.Pointer, length int32)

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
	var random [8]byte
	rand.Read(random[:])
	text := fmt.Appendf(nil, "read %t list %t write %t environment %d arguments %d year %d random %x",
		read == nil, list == nil, write == nil, len(os.Environ()), len(os.Args), time.Now().Year(), random)
	fail(unsafe.Pointer(&text[0]), int32(len(text)))
	return 1
}

func main() {}
