package h1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is a header field.
type field struct{ name, value string }

// Response is the response of a service. It must be closed, and not be used after that.
type Response struct {
	// Status is the HTTP status, Minor the second digit of the version.
	Status, Minor int
	// Length is the length of the body, or -1 if it is unknown.
	Length int64

	conn     *conn
	body     io.Reader
	chunked  bool
	last     bool    // no other response follows on the connection
	ended    bool    // the body was read to its end
	up       *upload // of the body of the request; nil if none exists
	stop     func() bool
	trailers []field
}

// maxInformational bounds the responses before the one that counts.
const maxInformational = 8

// readHead reads up to the end of the header.
func (c *conn) readHead(method string) error {
	for range maxInformational {
		if err := c.readFields(true); err != nil {
			return err
		}
		if status := c.response.Status; status >= 200 {
			return c.frame(method)
		} else if status == 101 {
			return fmt.Errorf("%w: it switches protocols unasked", ErrInvalidResponse)
		}
	}
	return fmt.Errorf("%w: too many informational responses", ErrInvalidResponse)
}

// readFields reads a block of lines, with a status line or without.
func (c *conn) readFields(withStatus bool) error {
	c.fields = c.fields[:0]
	var block []byte
	if _, err := c.r.Peek(1); err != nil {
		if withStatus && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)) {
			return fmt.Errorf("%w: %w", ErrStale, err)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	// The lines are gathered, and become one string of which all fields are parts.
	var ends [64]int
	lines := ends[:0]
	for {
		line, err := c.r.ReadSlice('\n')
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(block)+len(line) > c.transport.MaxHeader {
			return fmt.Errorf("%w: its header has more than %d bytes", ErrInvalidResponse, c.transport.MaxHeader)
		}
		if block == nil {
			block = make([]byte, 0, 512)
		}
		block = append(block, line...)
		if err != nil {
			continue // the rest of the line
		}
		start := 0
		if len(lines) > 0 {
			start = lines[len(lines)-1]
		}
		lines = append(lines, len(block))
		if !withStatus && !bytes.HasSuffix(block, []byte("\r\n")) {
			return fmt.Errorf("%w: a line of its trailers", ErrInvalidResponse)
		}
		if len(trimEnd(block[start:])) == 0 {
			break
		}
	}
	text, start := string(block), 0
	for i, end := range lines[:len(lines)-1] {
		line := trimLine(text[start:end])
		start = end
		if i == 0 && withStatus {
			if err := c.response.parseStatus(line); err != nil {
				return err
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !isToken(name) || !isFieldValue(value) { // a folded line has no name either
			return fmt.Errorf("%w: header field %d", ErrInvalidResponse, i)
		}
		c.fields = append(c.fields, field{textproto.CanonicalMIMEHeaderKey(name), value})
	}
	if withStatus && len(lines) == 1 {
		return fmt.Errorf("%w: no status line", ErrInvalidResponse)
	}
	return nil
}

func trimEnd(line []byte) []byte {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

func trimLine(line string) string { return strings.TrimSuffix(line[:len(line)-1], "\r") }

// parseStatus reads "HTTP/1.1 200 OK".
func (r *Response) parseStatus(line string) error {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.ParseUint(code, 10, 16)
	if (version != "HTTP/1.1" && version != "HTTP/1.0") || err != nil || len(code) != 3 || status < 100 {
		return fmt.Errorf("%w: status line %q", ErrInvalidResponse, line[:min(len(line), 64)])
	}
	r.Status, r.Minor = int(status), int(version[len(version)-1]-'0')
	return nil
}

// frame finds out where the body ends (RFC 9112, 6.3).
func (c *conn) frame(method string) error {
	r := &c.response
	r.Length = -1
	r.last = r.Minor == 0
	coded := false
	for _, f := range c.fields {
		switch f.name {
		case "Connection":
			for token := range strings.SplitSeq(f.value, ",") {
				r.last = r.last || strings.EqualFold(strings.TrimSpace(token), "close")
			}
		case "Content-Length":
			n, err := strconv.ParseUint(f.value, 10, 63)
			if err != nil || f.value[0] == '+' || (r.Length >= 0 && r.Length != int64(n)) {
				return fmt.Errorf("%w: Content-Length %q", ErrInvalidResponse, f.value)
			}
			r.Length = int64(n)
		case "Transfer-Encoding":
			if coded || r.Minor == 0 || !strings.EqualFold(f.value, "chunked") { // RFC 9112, 6.1
				return fmt.Errorf("%w: Transfer-Encoding %q", ErrInvalidResponse, f.value)
			}
			coded = true
		}
	}
	if r.Length >= 0 {
		c.oneLength(coded)
	}
	switch {
	case method == "HEAD" || r.Status == 204 || r.Status == 304:
		r.Length, r.body = 0, nil
		r.ended = true
	case coded:
		// A length beside it may be an attempt at confusion: nothing is to follow.
		r.last = r.last || r.Length >= 0
		r.Length, r.chunked = -1, true
		r.body = httputil.NewChunkedReader(c.r)
	case r.Length >= 0:
		r.ended = r.Length == 0
	default:
		r.last = true
		r.body = c.r
	}
	return nil
}

// oneLength leaves one field with the length of the body, and none beside a
// coding: the recipient must not have a choice (RFC 9112, 6.3).
func (c *conn) oneLength(coded bool) {
	found := coded
	c.fields = slices.DeleteFunc(c.fields, func(f field) bool {
		drop := found && f.name == "Content-Length"
		found = found || f.name == "Content-Length"
		return drop
	})
}

// Count is the number of header fields.
func (r *Response) Count() int { return len(r.conn.fields) }

// Field is the header field i, of Count, with its canonical name. It holds until
// the body is read.
func (r *Response) Field(i int) (name, value string) {
	return r.conn.fields[i].name, r.conn.fields[i].value
}

// Trailers calls f with each field after the body, once that was read.
func (r *Response) Trailers(f func(name, value string)) {
	for _, t := range r.trailers {
		f(t.name, t.value)
	}
}

// Read reads the body.
func (r *Response) Read(p []byte) (int, error) {
	if r.ended {
		return 0, io.EOF
	}
	c := r.conn
	if r.body == nil { // of known length
		if int64(len(p)) > r.Length {
			p = p[:r.Length]
		}
		n, err := c.r.Read(p)
		if r.Length -= int64(n); r.Length == 0 {
			r.ended = true
			return n, io.EOF
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	n, err := r.body.Read(p)
	if err != io.EOF {
		return n, err
	}
	if r.chunked {
		if err := c.readFields(false); err != nil {
			return n, fmt.Errorf("read trailers: %w", err)
		}
		r.trailers = c.fields
	}
	r.ended = true
	return n, io.EOF
}

// Close gives the connection back if both messages are over, and ends it
// otherwise.
func (r *Response) Close() {
	c := r.conn
	over := r.ended && !r.last && c.r.Buffered() == 0
	if over && r.up != nil {
		over = r.up.sent()
	}
	if r.stop() && over {
		c.transport.give(c)
		return
	}
	c.close()
}

// sent reports whether all of a body was sent, or is within a moment: it may still
// be on its way when the response is over.
func (u *upload) sent() bool {
	if !u.read.Load() {
		return false
	}
	select {
	case err := <-u.err:
		return err == nil
	default:
	}
	timer := time.NewTimer(maxUploadWait)
	defer timer.Stop()
	select {
	case err := <-u.err:
		return err == nil
	case <-timer.C:
		return false
	}
}

// maxUploadWait is how long a connection is worth waiting for.
const maxUploadWait = 50 * time.Millisecond
