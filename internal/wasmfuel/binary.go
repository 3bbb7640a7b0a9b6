package wasmfuel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The sections of a module (WebAssembly 2.0, section 5.5.2).
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// order returns the sections in the order that modules have them in.
func order() []byte {
	return []byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
		sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
	}
}

// Magic is how a module of version 1 begins.
const Magic = "\x00asm\x01\x00\x00\x00"

var errCut = errors.New("a number or a section is cut off")

// sectionBytes are the sections of a module by their numbers.
type sectionBytes [sectionDataCount + 1][]byte

// join returns a module with the given sections.
func join(sections *sectionBytes) []byte {
	out := []byte(Magic)
	for _, id := range order() {
		if section := sections[id]; section != nil {
			out = appendVector(append(out, id), len(section), section)
		}
	}
	return out
}

// split returns the sections of a module; those that are missing are nil.
// Custom sections are left out: they do not affect the execution.
func split(module []byte) (*sectionBytes, error) {
	if !bytes.HasPrefix(module, []byte(Magic)) {
		return nil, errors.New("it does not begin as a module of version 1")
	}
	sections := &sectionBytes{}
	r := reader{data: module[len(Magic):]}
	rest := order()
	for len(r.data) > 0 && r.err == nil {
		id := r.byte()
		body := r.take(uint64(r.u32()))
		if id == sectionCustom || r.err != nil {
			continue
		}
		for len(rest) > 0 && rest[0] != id {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil, fmt.Errorf("section %d is unknown, or not in its place", id)
		}
		rest = rest[1:]
		sections[id] = body
	}
	return sections, r.err
}

// reader reads a part of a module. It keeps the first error; after an error it is
// at the end.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *reader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.data)) {
		r.fail(errCut)
		return nil
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) byte() byte {
	if taken := r.take(1); len(taken) == 1 {
		return taken[0]
	}
	return 0
}

// u32 reads an unsigned number in LEB128.
func (r *reader) u32() uint32 {
	v, n := binary.Uvarint(r.data[:min(len(r.data), 5)])
	if n <= 0 || v > 1<<32-1 {
		r.fail(errCut)
		return 0
	}
	r.data = r.data[n:]
	return uint32(v)
}

// signed reads a signed number of so many bits in LEB128.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; r.err == nil; shift += 7 {
		b := r.byte()
		part := int64(int8(b<<1) >> 1) // the sign is in the last part
		if left := bits - shift; left <= 7 {
			if over := part >> (left - 1); b&0x80 != 0 || (over != 0 && over != -1) {
				break
			}
			return v | part<<shift
		}
		if b&0x80 == 0 {
			return v | part<<shift
		}
		v |= int64(b&0x7f) << shift
	}
	r.fail(errCut)
	return 0
}

// appendSigned appends a signed number in LEB128.
func appendSigned(to []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(to, b)
		}
		to = append(to, b|0x80)
	}
}

// appendU32 appends an unsigned number in LEB128.
func appendU32(to []byte, v uint32) []byte { return binary.AppendUvarint(to, uint64(v)) }

// appendVector appends a number and what it counts or measures.
func appendVector(to []byte, n int, body []byte) []byte {
	return append(appendU32(to, uint32(n)), body...)
}
