package rml

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// pieceSize is how much of a CSV file is loaded at a time.
const pieceSize = 1 << 20

// maxRowSize is the longest row that is kept in memory to find its end.
const maxRowSize = 1 << 30

// rowReader is implemented by the documents of CSV in addition to the contract: it
// splits an input into pieces that end with a row, and loads those after the first.
type rowReader interface {
	Split(data []byte, first bool) int
	LoadRows(data []byte) error
}

// rows loads a CSV source in pieces of a size.
func (b *batch) rows(ctx context.Context, in int, r io.Reader, size int, use func() error) error {
	document := b.inputs[in].document.(rowReader)
	data := make([]byte, 0, size)
	for first := true; ; {
		n, last, err := fill(r, data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return b.inputError(in, err)
		}
		end := len(data)
		if !last {
			if end = document.Split(data, first); end == 0 {
				if len(data) >= maxRowSize {
					return b.inputError(in, fmt.Errorf("a row is longer than %d bytes: %w", maxRowSize, ErrLimit))
				}
				data = slices.Grow(data, len(data))
				continue
			}
		}
		switch {
		case first:
			err = b.load(in, data[:end])
		case end == 0:
			return nil
		default:
			clear(b.inputs[in].selected)
			b.inputs[in].piece++
			if err = document.LoadRows(data[:end]); err != nil {
				err = b.inputError(in, err)
			}
			b.countIrregular(in)
		}
		if err != nil {
			return err
		}
		b.loaded[in] = first && last
		if err := use(); err != nil {
			return err
		}
		if last {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data = data[:copy(data, data[end:])]
		first = false
	}
}

// fill reads until p is full or the source ends. Unlike [io.ReadFull] it tells the end from an error of
// the source that is io.ErrUnexpectedEOF, such as that of a packed file that is cut off.
func fill(r io.Reader, p []byte) (n int, last bool, err error) {
	for n < len(p) {
		var read int
		read, err = r.Read(p[n:])
		n += read
		if err == io.EOF {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

// lines loads a source line by line.
func (b *batch) lines(ctx context.Context, in int, r io.Reader, use func() error) error {
	scanner := newLineScanner(r, b.plan.limits.MaxBytes)
	line := 1
	for ; scanner.Scan(); line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		err := b.load(in, scanner.Bytes())
		if err == nil {
			b.inputs[in].piece = line
			err = use()
		}
		var message *MessageError
		if errors.As(err, &message) && message.Source == b.plan.inputs[in].source.String() {
			message.Source = fmt.Sprintf("%s line %d", message.Source, line)
		}
		if err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		e := b.inputError(in, lineError(err, b.plan.limits.MaxBytes))
		e.Place = fmt.Sprintf("line %d", line)
		return e
	}
	return nil
}

// lineError adds the limit to the error of a line that is too long.
func lineError(err error, maxBytes int) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("it has more than %d bytes: %w", maxBytes, ErrLimit)
	}
	return err
}

// newLineScanner returns a scanner over the lines of r, none of which may have
// more than maxBytes bytes.
func newLineScanner(r io.Reader, maxBytes int) *bufio.Scanner {
	scanner := bufio.NewScanner(r)
	room := max(maxBytes, maxBytes+len("\r\n")) // the first where the sum overflows
	scanner.Buffer(make([]byte, 0, min(64<<10, room)), room)
	return scanner
}
