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

// The bounds of a response in bytes, the four of its length not counted. The
// client allocates what the length says, for the first responses of a connection
// without a look at it.
const (
	// minFrame is the least: each response begins with a correlation id.
	minFrame = 4
	// maxFirstFrame is the most that the first response may have: the versions
	// of the requests that the broker knows, some kilobytes.
	maxFirstFrame = 1 << 20
)

// maxFrame is the most that any response may have: 100 MiB, the client's own
// limit. Fetches ask for 16 MiB, or one batch.
var maxFrame = int64(sarama.MaxResponseSize)

// shownBytes is how much of an answer that is not Kafka's an error shows.
const shownBytes = 40

// frames is a connection whose peer may send responses of the protocol only:
// a length of four bytes, and so many bytes. A length out of bounds never gets to
// the reader, which would allocate as much. It lies above TLS.
type frames struct {
	net.Conn
	peer   string
	reader *bufio.Reader
	first  bool    // whether the next frame is the first
	length [4]byte // of the frame at hand
	unread int     // bytes of length that the reader has yet to get
	left   int64   // bytes of the frame after its length
	err    error   // why nothing more can be read
}

func newFrames(conn net.Conn, peer string) *frames {
	return &frames{Conn: conn, peer: peer, reader: bufio.NewReader(conn), first: true}
}

// Read implements net.Conn. It gives out at most one frame at a time.
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
	if len(p) == 0 || n > 0 && f.reader.Buffered() == 0 {
		return n, nil // without waiting for more
	}
	more, err := f.reader.Read(p)
	f.left -= int64(more)
	if err == io.EOF && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n + more, err
}

// next reads the length of a frame. It leaves bytes of a length that did not yet
// arrive in full for the next call.
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
	_, _ = f.reader.Discard(len(f.length)) // they are there
	f.unread, f.left, f.first = len(f.length), length, false
	return nil
}

// frameError says that a peer sent something that is no response of Kafka. It is
// a net.Error so that the client gives the connection up at once.
type frameError struct {
	peer         string
	length, most int64
	answer       []byte // the beginning
}

// Error shows what the peer sent, as far as it is text.
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

// isText reports whether a line consists of printable ASCII, some at least.
func isText(line []byte) bool {
	return len(line) >= 4 && bytes.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Timeout implements net.Error.
func (*frameError) Timeout() bool { return false }

// Temporary implements net.Error.
func (*frameError) Temporary() bool { return false }
