package supernode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// The two transports of the Fleet API: gRPC up to Flower 1.39, and protobuf over HTTP since.
const (
	fleetPath    = "/v1/fleet/"
	fleetService = "/flwr.proto.Fleet/"
	protobufType = "application/protobuf"
	grpcType     = "application/grpc"
)

// Sizes of requests, in bytes.
const (
	smallBody = 64 << 10 // that are read without admission
	listBody  = 16 << 20 // of an answer that lists its objects
	piece     = 256 << 10
	drained   = 64 << 20 // of a request that is refused
)

// spoken is which releases of flower-supernode are served.
const spoken = "Flower 1.13 to 1.18, and of 1.20 and later"

// method is one of the calls of the Fleet API.
type method struct {
	name   string // over gRPC
	path   string // over HTTP, below /v1/fleet/; empty where there is none
	starts bool   // a SuperNode calls it first
	body   func(*Server) int64
	serve  func(*call) (flower.Blob, error)
}

// call is a request of a SuperNode.
type call struct {
	s       *Server
	ctx     context.Context
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	grpc    bool
	method  *method
	key     *nodeKey // nil for a request without a signature
	node    *Node    // nil for calls that start a SuperNode
	request request
	input   *input
	release func()      // of the memory of the body; nil for none
	done    func()      // called at the end of the request; nil for none
	awaited func() bool // whether the body is still wanted; nil for always
	whole   bool        // the body is a message with its content, which has memory of its own

	answer   *answer // that a pushed object belongs to; nil for none
	repeated bool    // the answer is there already
	size     int64   // of the body
}

// findMethod returns the method that a request calls, or nil.
func (s *Server) findMethod(r *http.Request) (m *method, grpc bool) {
	if name, ok := strings.CutPrefix(r.URL.Path, fleetService); ok {
		return s.byName[name], true
	}
	if path, ok := strings.CutPrefix(r.URL.Path, fleetPath); ok && path != "" {
		return s.byPath[path], false
	}
	return nil, false
}

// ServeHTTP implements [http.Handler]. It serves both transports, gRPC over HTTP/2.
// Requests that are not part of the Fleet API are answered with a sentence, which is
// logged once for each host.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)) {
		w.Header().Set("Connection", "close") // a proxy may see another end of the request (RFC 9112 section 6.1)
	}
	m, grpc := s.findMethod(r)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(flower.ErrStopped) })()
	c := &call{s: s, ctx: ctx, w: w, r: r, control: http.NewResponseController(w), grpc: grpc, method: m}
	c.input = &input{control: c.control}
	defer c.input.end()
	if !s.enter() {
		c.refuse(busy("The collector stops."))
		return
	}
	defer s.leave()
	reply, err := s.serve(c)
	if c.release != nil {
		defer c.release()
	}
	if c.done != nil {
		defer c.done()
	}
	if err != nil {
		c.refuse(asRefusal(err))
		return
	}
	c.reply(reply)
}

// serve carries a request out.
func (s *Server) serve(c *call) (flower.Blob, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	key, err := s.keys.verify(c.r.Header, c.grpc, time.Now())
	switch {
	case errors.Is(err, errUnsigned) && c.grpc && s.unsigned(c.method):
	case err != nil:
		return nil, unauthenticated("The SuperNode is not authenticated: "+err.Error()+".", c.method.starts)
	}
	c.key = key
	size, err := c.length()
	if err != nil {
		return nil, err
	}
	if limit := c.method.body(s); size > limit {
		return nil, tooLarge("The request "+c.method.name, size, limit)
	}
	c.size = size
	if err := c.admit(); err != nil {
		return nil, err
	}
	if c.method.name == "PushObject" && c.answer == nil {
		return numberReply(1, protowire.EncodeBool(c.repeated)), c.drop(size)
	}
	body, left, err := c.read(size)
	if errors.Is(err, errDropped) {
		if err := c.drop(left); err != nil {
			return nil, err
		}
		return c.pushed("", nil, nil)
	}
	if err != nil {
		return nil, err
	}
	if c.request, err = decodeRequest(c.method.name, body); err != nil {
		return nil, malformed(err)
	}
	if !c.method.starts {
		if c.node, err = s.caller(c); err != nil {
			return nil, err
		}
	}
	return c.method.serve(c)
}

// check refuses requests that are no calls of the Fleet API.
func (s *Server) check(c *call) error {
	r := c.r
	switch isGRPC := strings.HasPrefix(r.Header.Get("Content-Type"), grpcType); {
	case c.method == nil && (isGRPC || strings.HasPrefix(r.URL.Path, fleetPath)):
		c.grpc = isGRPC
		return unsupported("This collector speaks with flower-supernode of " + spoken + "; it does not know " + shown(r.URL.Path) + ".")
	case c.method == nil:
		return &refusal{http.StatusNotFound, codes.NotFound, codePayload,
			"This port is for flower-supernode. The REST interface of the collector is on another port.", "a program called that is no SuperNode"}
	case c.grpc != isGRPC, r.Method != http.MethodPost, c.grpc && r.ProtoMajor < 2:
		return &refusal{http.StatusUnsupportedMediaType, codes.Internal, codePayload,
			"The request is not one of flower-supernode, which sends protobuf with POST.", "a program called that is no SuperNode"}
	}
	return nil
}

// shown returns a path for a log, without what a terminal would interpret.
func shown(path string) string {
	return fmt.Sprintf("%.100q", path)
}

// length returns the size of the body.
func (c *call) length() (int64, error) {
	if c.grpc {
		return c.grpcLength()
	}
	if c.r.ContentLength < 0 {
		return 0, &refusal{http.StatusLengthRequired, codes.InvalidArgument, codePayload,
			"The request does not say how long it is.", "a malformed request of a SuperNode"}
	}
	return c.r.ContentLength, nil
}

// read reads the body. The error errDropped comes with how many bytes are left of a body
// that is not wanted; a small one is read in any case, since its answer may be a refusal.
func (c *call) read(size int64) (body flower.Blob, left int64, err error) {
	wanted := func() bool { return c.awaited == nil || size <= smallBody || c.awaited() }
	var content []byte
	for at := int64(0); at < size; {
		if !wanted() {
			return nil, size - at, errDropped
		}
		if content == nil {
			content = make([]byte, size)
		}
		n, err := c.input.read(c.r.Body, content[at:min(at+piece, size)], c.s.config.Stall)
		if err != nil {
			return nil, 0, err
		}
		at += int64(n)
		if c.answer != nil {
			c.answer.alive()
		}
	}
	// Package http notices that the client is gone once it has seen the end.
	if n, _ := c.r.Body.Read(make([]byte, 1)); n > 0 {
		return nil, 0, malformed(errors.New("it is longer than it says"))
	}
	c.control.SetReadDeadline(time.Time{})
	return flower.Blob{content}, 0, nil
}

// drop reads bytes that are not used, since the SuperNode reads no answer before it has sent
// its request. Their memory is given back.
func (c *call) drop(left int64) error {
	if c.release != nil {
		c.release()
		c.release = nil
	}
	scratch := make([]byte, min(piece, left))
	for left > 0 {
		n, err := c.input.read(c.r.Body, scratch[:min(piece, left)], c.s.config.Stall)
		if left -= int64(n); err != nil {
			return err
		}
	}
	c.control.SetReadDeadline(time.Time{})
	return nil
}

// input is what a request still sends. Its reading may be ended by another goroutine.
type input struct {
	control *http.ResponseController

	mu    sync.Mutex
	ended bool // the request is over
	given bool // it was given up
}

// read fills a piece, which may take as long as stall.
func (i *input) read(from io.Reader, into []byte, stall time.Duration) (int, error) {
	i.mu.Lock()
	given := i.given
	if !given {
		i.control.SetReadDeadline(time.Now().Add(stall)) // no error is worth more than that of Read
	}
	i.mu.Unlock()
	n, err := 0, os.ErrDeadlineExceeded
	if !given {
		n, err = io.ReadFull(from, into)
	}
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return n, malformed(err)
	case i.isGiven():
		return n, busy("The request was given up.")
	}
	return n, busy(fmt.Sprintf("Nothing came for %v in the middle of a request.", stall))
}

func (i *input) isGiven() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.given
}

// interrupt gives the request up.
func (i *input) interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.given = true; !i.ended {
		i.control.SetReadDeadline(time.Now())
	}
}

func (i *input) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
}

// reply sends the answer.
func (c *call) reply(message flower.Blob) {
	size := message.Len()
	h := c.w.Header()
	if c.grpc {
		c.beginGRPC(size)
	} else {
		h.Set("Content-Type", protobufType)
		h.Set("Content-Length", fmt.Sprint(size))
	}
	for _, chunk := range message {
		for len(chunk) > 0 {
			next := chunk[:min(len(chunk), piece)]
			c.control.SetWriteDeadline(time.Now().Add(c.s.config.Stall))
			if _, err := c.w.Write(next); err != nil {
				return // the node asks again
			}
			chunk = chunk[len(next):]
		}
	}
	if c.grpc {
		c.endGRPC(codes.OK, "")
	}
	c.control.SetWriteDeadline(time.Time{})
}

// refuse sends a refusal.
func (c *call) refuse(r *refusal) {
	if r.kind != "" {
		c.s.warnings.warn(c.s.config.Logger, c.r.RemoteAddr, r.kind, "call", shown(c.r.URL.Path), "error", r.detail)
	}
	c.control.SetWriteDeadline(time.Now().Add(c.s.config.Stall))
	if c.grpc {
		c.refuseGRPC(r)
		return
	}
	c.refuseHTTP(r)
}
