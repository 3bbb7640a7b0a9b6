package rml

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Encoding is a character encoding of a file.
type Encoding uint8

// The character encodings of RML-IO.
const (
	UTF8 Encoding = iota
	UTF16
)

// Compression is a compression of a file.
type Compression uint8

// The compressions of RML-IO. Archives hold one file.
const (
	Uncompressed Compression = iota
	Gzip
	Zip
	TarGzip
	TarXZ
)

var utf16Text = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)

func errNotAFile(iri string) error {
	return fmt.Errorf("<%s> is not the IRI of a file: expected one that begins with file:/", iri)
}

// unpack returns the text of a source as UTF-8.
func unpack(r io.Reader, s Source) (io.Reader, error) {
	r, err := decompress(r, s.Compression)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if s.Encoding == UTF16 {
		r = transform.NewReader(r, utf16Text.NewDecoder())
	}
	return r, nil
}

// packed returns the source that a message stands for if its text is not the message itself, or nil.
func (p *Plan) packed() *Source {
	if len(p.sources) == 0 {
		return nil
	}
	source := &p.inputs[p.sources[0]].source
	if source.Encoding == UTF8 && source.Compression == Uncompressed {
		return nil
	}
	return source
}

// errXZ is the error for messages that are packed with XZ, which may ask for a dictionary of 4 GiB.
var errXZ = errors.New("a message in rml:tarxz is not unpacked, because its dictionary has no bound: expected rml:gzip, rml:zip or " +
	"rml:targz")

// unpack returns the text of a message, which may have as many bytes as a message that is not packed.
func (m *Mapper) unpack(message []byte, s Source) ([]byte, error) {
	if s.Compression == TarXZ {
		return nil, &MessageError{Err: errXZ}
	}
	r, err := unpack(bytes.NewReader(message), s)
	if err != nil {
		return nil, &MessageError{Err: err}
	}
	limit := m.plan.limits.MaxBytes
	text := bytes.NewBuffer(m.plain[:0])
	_, err = text.ReadFrom(io.LimitReader(r, int64(limit)+1))
	m.plain = text.Bytes()
	switch {
	case err != nil:
		return nil, &MessageError{Err: fmt.Errorf("unpack: %w", err)}
	case len(m.plain) > limit:
		return nil, &MessageError{Err: fmt.Errorf("the message has more than %d bytes when it is unpacked: %w", limit, ErrLimit)}
	}
	return m.plain, nil
}

func decompress(r io.Reader, c Compression) (io.Reader, error) {
	switch c {
	case Gzip:
		return gzip.NewReader(r)
	case Zip:
		return unzip(r)
	case TarGzip:
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		return untar(unpacked)
	case TarXZ:
		unpacked, err := xz.NewReader(r)
		if err != nil {
			return nil, err
		}
		return untar(unpacked)
	}
	return r, nil
}

// unzip returns the first file of an archive, whose directory is at its end:
// the packed bytes are read into memory.
func unzip(r io.Reader) (io.Reader, error) {
	packed, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, err
	}
	for _, file := range archive.File {
		if !file.FileInfo().IsDir() {
			return file.Open()
		}
	}
	return nil, errors.New("the archive holds no file")
}

// untar returns the first file of an archive.
func untar(r io.Reader) (io.Reader, error) {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the archive holds no file")
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			return archive, nil
		}
	}
}

// packer compresses and encodes the text of a target.
type packer struct {
	io.Writer
	close []func() error // innermost first
}

// Close completes the compressed file. It does not close the writer below.
func (p *packer) Close() error {
	for _, f := range p.close {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// pack returns a writer that packs what is written to it into w.
func pack(w io.Writer, t Target) (*packer, error) {
	p := &packer{Writer: w}
	inner := strings.TrimSuffix(filepath.Base(t.Name), filepath.Ext(t.Name))
	switch t.Compression {
	case Gzip:
		gz := gzip.NewWriter(w)
		p.Writer = gz
		p.close = append(p.close, gz.Close)
	case Zip:
		archive := zip.NewWriter(w)
		file, err := archive.Create(inner)
		if err != nil {
			return nil, err
		}
		p.Writer = file
		p.close = append(p.close, archive.Close)
	case TarGzip:
		gz := gzip.NewWriter(w)
		p.tar(gz, strings.TrimSuffix(inner, ".tar"), gz.Close)
	case TarXZ:
		packed, err := xz.NewWriter(w)
		if err != nil {
			return nil, err
		}
		p.tar(packed, strings.TrimSuffix(inner, ".tar"), packed.Close)
	}
	if t.Encoding == UTF16 {
		encoded := transform.NewWriter(p.Writer, utf16Text.NewEncoder())
		p.Writer = encoded
		p.close = append([]func() error{encoded.Close}, p.close...)
	}
	return p, nil
}

// tar writes one file into an archive. The header contains the size of the
// file, so the text is kept in memory until Close.
func (p *packer) tar(w io.Writer, name string, closeBelow func() error) {
	var text bytes.Buffer
	p.Writer = &text
	p.close = append(p.close, func() error {
		archive := tar.NewWriter(w)
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(text.Len()), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := text.WriteTo(archive); err != nil {
			return err
		}
		return archive.Close()
	}, closeBelow)
}
