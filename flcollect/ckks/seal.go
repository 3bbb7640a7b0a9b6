package ckks

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// headerSize is the size of the header of every object of SEAL: magic number,
// own size, version, compression, two zeros, and the size of the whole object.
const headerSize = 16

const magic = 0xA15E

// mode is the compression of an object.
type mode byte

const (
	plainMode mode = 0
	zlibMode  mode = 1
	zstdMode  mode = 2
)

// String names the mode.
func (m mode) String() string {
	switch m {
	case plainMode:
		return "none"
	case zlibMode:
		return "zlib"
	case zstdMode:
		return "zstd"
	}
	return fmt.Sprintf("compression %d", byte(m))
}

// version is the version of the SEAL that wrote an object. It determines the layout
// of a ciphertext, and which versions can read it: SEAL reads its own major and
// minor version, and from version 4 on also every version 3.
type version struct{ major, minor byte }

// commonVersion is the oldest that is written: every SEAL 4 reads it.
var commonVersion = version{3, 6}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// known reports whether the layout of the version is known.
func (v version) known() bool { return v.major == 4 || v.major == 3 && v.minor >= 6 }

// header is the header of an object.
type header struct {
	version version
	mode    mode
	size    uint64
}

// readHeader reads the header at the start of an object, whose size is not
// compared with anything.
func readHeader(object []byte) (header, error) {
	if len(object) < headerSize {
		return header{}, fmt.Errorf("%d bytes are too few for an object of SEAL", len(object))
	}
	if got := binary.LittleEndian.Uint16(object); got != magic || object[2] != headerSize {
		return header{}, errors.New("it does not begin as an object of SEAL does")
	}
	h := header{
		version: version{object[3], object[4]},
		mode:    mode(object[5]),
		size:    binary.LittleEndian.Uint64(object[8:]),
	}
	if !h.version.known() {
		return header{}, fmt.Errorf("it was written by SEAL %s; versions from 3.6 to 4 are read", h.version)
	}
	if h.mode > zstdMode {
		return header{}, fmt.Errorf("%s is not known", h.mode)
	}
	if h.size < headerSize {
		return header{}, fmt.Errorf("its header says a size of %d bytes, less than its own", h.size)
	}
	return h, nil
}

// putHeader writes a header.
func putHeader(dst []byte, h header) {
	binary.LittleEndian.PutUint16(dst, magic)
	dst[2], dst[3], dst[4], dst[5] = headerSize, h.version.major, h.version.minor, byte(h.mode)
	dst[6], dst[7] = 0, 0
	binary.LittleEndian.PutUint64(dst[8:], h.size)
}

// nested returns the content of an object that lies uncompressed within another
// of the version, and what follows it.
func nested(data []byte, outer version) (content, rest []byte, err error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, nil, err
	}
	if h.mode != plainMode || h.version != outer {
		return nil, nil, fmt.Errorf("a part of it is of version %s with compression %s; %s and none are expected",
			h.version, h.mode, outer)
	}
	if h.size > uint64(len(data)) {
		return nil, nil, fmt.Errorf("a part of it has %d bytes, %d are left", h.size, len(data))
	}
	return data[headerSize:h.size], data[h.size:], nil
}
