package kafka

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/IBM/sarama"
)

// The bounds of a response in bytes, without the four of its length. The client allocates
// as much memory as the length says, and does not check the length of the first responses
// of a connection.
const (
	// minFrame is the minimum: each response begins with a correlation id.
	minFrame = 4
	// maxFirstFrame is the maximum of the first response: the versions of the
	// requests that the broker supports, some kilobytes.
	maxFirstFrame = 1 << 20
)

// maxFrame is the maximum of any response: 100 MiB, the client's own limit. Fetches request
// 16 MiB, or one batch.
var maxFrame = int64(sarama.MaxResponseSize)

// shownBytes is the length of the part of an invalid response that an error shows.
const shownBytes = 40

// frames is a connection that passes on responses of the protocol only: a length of four
// bytes, and as many bytes. It fails at a length out of bounds, for which the reader would
// allocate memory. It is used above TLS.
type frames struct {
	net.Conn
	peer   string
	reader *bufio.Reader
	first  bool    // whether the next frame is the first
	length [4]byte // of the frame at hand
	unread int     // bytes of length that Read has not returned yet
	left   int64   // bytes of the frame after its length
	err    error   // why nothing more can be read
}

func newFrames(conn net.Conn, peer string) *frames {
	return &frames{Conn: conn, peer: peer, reader: bufio.NewReader(conn), first: true}
}

// Read implements net.Conn. It returns bytes of at most one frame.
func (f *frames) Read(p []byte) (int, error) {
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	if f.unread == 0 && f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.length[len(f.length)-f.unread:])
	f.unread -= n
	p = p[n:][:min(int64(len(p)-n), f.left)]
	if len(p) == 0 || (n > 0 && f.reader.Buffered() == 0) {
		return n, nil // without waiting for more
	}
	more, err := f.reader.Read(p)
	f.left -= int64(more)
	if err == io.EOF && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n + more, err
}

// next reads the length of a frame. The bytes of an incomplete length stay buffered for the
// next call.
func (f *frames) next() error {
	head, err := f.reader.Peek(len(f.length))
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	length, most := int64(binary.BigEndian.Uint32(head)), maxFrame
	if f.first {
		most = min(most, maxFirstFrame)
	}
	if length < minFrame || length > most {
		shown, _ := f.reader.Peek(min(f.reader.Buffered(), shownBytes))
		f.err = &frameError{peer: f.peer, length: length, most: most, answer: bytes.Clone(shown)}
		return f.err
	}
	copy(f.length[:], head)
	_, _ = f.reader.Discard(len(f.length)) // Peek has buffered them
	f.unread = len(f.length)
	f.left = length
	f.first = false
	return nil
}

// frameError reports that a peer sent data that is not a response of Kafka. It is a
// net.Error, so that the client closes the connection at once.
type frameError struct {
	peer         string
	length, most int64
	answer       []byte // its beginning
}

// Error shows the response if it is text.
func (e *frameError) Error() string {
	line, _, _ := bytes.Cut(e.answer, []byte("\r"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	found := strconv.QuoteToASCII(string(line))
	switch {
	case bytes.HasPrefix(e.answer, []byte("HTTP/")):
		found += "; it is the port of a web server"
	case len(e.answer) > 1 && e.answer[0] == 0x15 && e.answer[1] == 3: // an alert (RFC 8446 section 5.1)
		found = "a TLS alert; set the protocol to SSL or SASL_SSL"
	case e.length == 0 || !isText(line):
		found = fmt.Sprintf("a response of %d bytes, where Kafka's have %d to %d", e.length, minFrame, e.most)
	}
	return fmt.Sprintf("%s does not speak Kafka: it answered with %s", e.peer, found)
}

// isText reports whether a line has at least four bytes and all are printable ASCII.
func isText(line []byte) bool {
	return len(line) >= 4 && bytes.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Timeout implements net.Error.
func (*frameError) Timeout() bool { return false }

// Temporary implements net.Error.
func (*frameError) Temporary() bool { return false }
