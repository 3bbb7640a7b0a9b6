package supernode

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// messageHeader is how many bytes gRPC sends before a message: a flag and its length.
const messageHeader = 5

// grpcLength returns the length of the message that a call carries.
func (c *call) grpcLength() (int64, error) {
	var header [messageHeader]byte
	c.control.SetReadDeadline(time.Now().Add(c.s.config.Stall))
	if _, err := io.ReadFull(c.r.Body, header[:]); errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, busy(fmt.Sprintf("Nothing came for %v at the beginning of a request.", c.s.config.Stall))
	} else if err != nil {
		return 0, malformed(err)
	}
	if header[0] != 0 {
		return 0, &refusal{http.StatusUnsupportedMediaType, codes.Unimplemented, codePayload,
			"The request is compressed, which this collector does not read.", "a malformed request of a SuperNode"}
	}
	return int64(binary.BigEndian.Uint32(header[1:])), nil
}

// beginGRPC sends what comes before a reply of size bytes.
func (c *call) beginGRPC(size int) {
	c.w.Header().Set("Content-Type", grpcType)
	header := make([]byte, messageHeader)
	binary.BigEndian.PutUint32(header[1:], uint32(size))
	c.control.SetWriteDeadline(time.Now().Add(c.s.config.Stall))
	c.w.Write(header) // the next write fails too
}

// endGRPC sends the status.
func (c *call) endGRPC(code codes.Code, message string) {
	h := c.w.Header()
	h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(code)))
	if message != "" {
		h.Set(http.TrailerPrefix+"Grpc-Message", encodeMessage(message))
	}
}

// refuseGRPC answers a call with a status and nothing else.
func (c *call) refuseGRPC(r *refusal) {
	c.w.Header().Set("Content-Type", grpcType)
	c.w.WriteHeader(http.StatusOK)
	_ = c.control.Flush() // the client may be gone
	c.endGRPC(r.grpc, r.detail)
}

// encodeMessage returns the text in the form of grpc-message, which percent-encodes what
// is not printable ASCII (gRPC over HTTP/2, "Responses").
func encodeMessage(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// refuseHTTP answers a request with a refusal in Flower's form.
func (c *call) refuseHTTP(r *refusal) {
	text, err := json.Marshal(struct {
		Code   int    `json:"code"`
		Detail string `json:"detail"`
	}{r.code, r.detail})
	if err != nil {
		text = []byte("{}")
	}
	if c.r.ContentLength > 0 && r.status != http.StatusServiceUnavailable {
		// A SuperNode whose connection is closed while it sends tries again without end.
		c.control.SetReadDeadline(time.Now().Add(c.s.config.Stall))
		io.CopyN(io.Discard, c.r.Body, drained)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(r.status)
	c.w.Write(text) // the client may be gone
}
