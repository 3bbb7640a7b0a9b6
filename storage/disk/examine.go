package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// fileState is the state of a file with the name of the database.
type fileState int

const (
	wholeFile      fileState = iota // has all pages that its meta pages name
	emptyFile                       // has no byte
	unfinishedFile                  // is incomplete, and nothing was ever stored in it
)

// A file of bbolt begins with two meta pages, which transactions write in turn.
// Each has the size of a page, the number of pages, and the transaction that
// wrote it; the first one of all is number 2, and writes the first page.
const (
	metaHeader  = 16 // bytes of a page before its content
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	minPageSize = 1 << 10
	maxPageSize = 1 << 24
)

// metaPage is the part of a meta page that is read.
type metaPage struct {
	pageSize, pages, transaction uint64
}

// extent is how many bytes a file with this meta page has at least.
func (m metaPage) extent() int64 { return int64(m.pages * m.pageSize) }

// examine returns the state of the file, or an error if it cannot be used.
func examine(file *os.File) (fileState, error) {
	first, hasFirst, err := readMeta(file, 0)
	if err != nil {
		return 0, err
	}
	second, hasSecond, err := readSecondMeta(file, first, hasFirst)
	if err != nil {
		return 0, err
	}
	// The size is read after the pages: without a lock, a file that is in use
	// grows before its meta page says so.
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size == 0 {
		return emptyFile, nil
	}
	if !hasFirst && !hasSecond {
		return 0, fmt.Errorf("is no database, or both its meta pages are damaged (%d bytes): %s", size, remedy)
	}
	extent := max(first.extent(), second.extent())
	if size >= extent {
		return wholeFile, nil
	}
	if hasFirst && first.transaction == 0 && (!hasSecond || second.transaction == 1) {
		return unfinishedFile, nil
	}
	return 0, fmt.Errorf("has %d bytes, but its meta pages say that it has at least %d; it was truncated: %s", size,
		extent, remedy)
}

// readSecondMeta reads the second meta page, which is behind the first page,
// however large that is.
func readSecondMeta(file *os.File, first metaPage, hasFirst bool) (metaPage, bool, error) {
	if hasFirst {
		return readMeta(file, int64(first.pageSize))
	}
	for at := int64(minPageSize); at <= maxPageSize; at *= 2 {
		if m, ok, err := readMeta(file, at); ok && int64(m.pageSize) == at || err != nil {
			return m, ok, err
		}
	}
	return metaPage{}, false, nil
}

// readMeta reads the meta page at an offset, if there is a valid one.
func readMeta(file *os.File, at int64) (m metaPage, ok bool, err error) {
	var page [metaHeader + metaSize]byte
	if _, err := file.ReadAt(page[:], at); errors.Is(err, io.EOF) {
		return m, false, nil
	} else if err != nil {
		return m, false, err
	}
	content, order := page[metaHeader:], binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(content[:metaSize-8]) // never fails
	m = metaPage{
		pageSize:    uint64(order.Uint32(content[8:])),
		pages:       order.Uint64(content[40:]),
		transaction: order.Uint64(content[48:]),
	}
	ok = order.Uint32(content) == metaMagic && order.Uint32(content[4:]) == metaVersion &&
		order.Uint64(content[56:]) == sum.Sum64() &&
		m.pageSize >= minPageSize && m.pageSize <= maxPageSize && m.pages < 1<<38
	if !ok {
		m = metaPage{}
	}
	return m, ok, nil
}
