package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of what a module declares and the runtime would take at its word.
const (
	maxTable    = 1 << 20   // elements of tables
	maxFunction = 512 << 10 // bytes of one function: long ones take very long to compile
	maxTables   = 1
)

// The sections that are looked into (WebAssembly 1.0, section 5.5.2).
const (
	sectionImport = 2
	sectionTable  = 4
	sectionCode   = 10
)

var errCut = errors.New("a number or a section is cut off")

// scan looks for declarations beyond the bounds. Whether the module is valid is for
// the compiler to say.
func scan(module []byte) error {
	if !Is(module) {
		return errors.New("it does not begin as a module of version 1")
	}
	r := scanner{data: module[8:]}
	for len(r.data) > 0 && r.err == nil {
		id := r.byte()
		body := scanner{data: r.take(r.number())}
		switch id {
		case sectionImport:
			body.imports()
		case sectionTable:
			body.tables()
		case sectionCode:
			body.functions()
		}
		if r.err == nil {
			r.err = body.err
		}
	}
	return r.err
}

// scanner reads a part of a module. The first error stays.
type scanner struct {
	data []byte
	err  error
}

func (s *scanner) take(n uint64) []byte {
	if s.err != nil || n > uint64(len(s.data)) {
		s.fail(errCut)
		return nil
	}
	taken := s.data[:n]
	s.data = s.data[n:]
	return taken
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err, s.data = err, nil
	}
}

func (s *scanner) byte() byte {
	if taken := s.take(1); len(taken) == 1 {
		return taken[0]
	}
	return 0
}

// number reads an unsigned number in LEB128, of 32 bits in valid modules.
func (s *scanner) number() uint64 {
	v, n := binary.Uvarint(s.data[:min(len(s.data), 10)])
	if n <= 0 {
		s.fail(errCut)
		return 0
	}
	s.data = s.data[n:]
	return v
}

// imports has tables and memories refused: the host has none.
func (s *scanner) imports() {
	for n := s.number(); n > 0 && s.err == nil; n-- {
		s.take(s.number())
		s.take(s.number())
		if kind := s.byte(); kind != 0 && s.err == nil {
			s.fail(errors.New("it imports what is no function"))
		}
		s.number() // the type
	}
}

func (s *scanner) tables() {
	n := s.number()
	if n > maxTables {
		s.fail(fmt.Errorf("it has %d tables, more than %d", n, maxTables))
	}
	for ; n > 0 && s.err == nil; n-- {
		s.byte() // the type of the elements
		flags := s.byte()
		if least := s.number(); least > maxTable {
			s.fail(fmt.Errorf("a table has %d elements, more than %d", least, maxTable))
		}
		if flags&1 != 0 {
			s.number()
		}
	}
}

func (s *scanner) functions() {
	count := s.number()
	for k := uint64(0); k < count && s.err == nil; k++ {
		size := s.number()
		if size > maxFunction {
			s.fail(fmt.Errorf("function %d has %d bytes, more than %d", k, size, maxFunction))
		}
		s.take(size)
	}
}
