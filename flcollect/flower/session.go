package flower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// errDone ends a session after a reconnect instruction.
var errDone = errors.New("flower: session is over")

// Session is the stream of one Flower client, from its Join to its end. It is
// safe for concurrent use. Instructions are sent one at a time, each after the
// answer to the one before.
//
// The context of a method bounds the wait for the answer. A late answer cannot be
// distinguished from the next one, so the session ends when the context of an
// instruction ends before its answer, unless the cause is [ErrSetAside].
type Session struct {
	ctx       context.Context
	end       context.CancelCauseFunc
	id        string
	peer      Peer
	refused   error // from ServerConfig.Identify
	byAddress bool  // whether the name is an address, which other streams of its connection have
	stream    *stream
	gate      *gate
	turn      chan struct{} // holds a token while an instruction is under way

	relays   *budget // of the server
	relaying atomic.Bool
}

// ID returns the client's name, as ServerConfig.Identify gave it.
func (s *Session) ID() string { return s.id }

// Peer describes the client end of the connection.
func (s *Session) Peer() Peer { return s.peer }

// Done is closed when the session has ended: the client left, it violated the
// protocol, or the server ended the session.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Err returns why the session has ended. It returns nil before, and after a
// [Session.Reconnect].
func (s *Session) Err() error {
	cause := context.Cause(s.ctx)
	switch {
	case errors.Is(cause, errDone):
		return nil
	case errors.Is(cause, context.Canceled):
		return ErrGone
	}
	return cause
}

// Fit sends a fit instruction and returns the answer, which must be released.
// An answer whose status is not OK is a *[StatusError].
func (s *Session) Fit(ctx context.Context, ins FitIns) (*FitRes, error) {
	res, release, err := call[*FitRes](ctx, s, "fit", ins)
	if err != nil {
		return nil, err
	}
	if res.Status.Code != OK {
		release()
		return nil, s.failed("fit", &StatusError{res.Status})
	}
	res.release = release
	return res, nil
}

// Evaluate sends an evaluate instruction and returns the answer. An answer
// whose status is not OK is a *[StatusError].
func (s *Session) Evaluate(ctx context.Context, ins EvaluateIns) (*EvaluateRes, error) {
	res, release, err := call[*EvaluateRes](ctx, s, "evaluate", ins)
	if err != nil {
		return nil, err
	}
	release()
	if res.Status.Code != OK {
		return nil, s.failed("evaluate", &StatusError{res.Status})
	}
	return res, nil
}

// Parameters requests the client's model. The answer must be released. An answer
// whose status is not OK is a *[StatusError].
func (s *Session) Parameters(ctx context.Context, ins GetParametersIns) (*ParametersRes, error) {
	res, release, err := call[*ParametersRes](ctx, s, "get parameters", ins)
	if err != nil {
		return nil, err
	}
	if res.Status.Code != OK {
		release()
		return nil, s.failed("get parameters", &StatusError{res.Status})
	}
	res.release = release
	return res, nil
}

// Properties requests the client's properties. An answer whose status is not OK
// is a *[StatusError].
func (s *Session) Properties(ctx context.Context, ins GetPropertiesIns) (*PropertiesRes, error) {
	res, release, err := call[*PropertiesRes](ctx, s, "get properties", ins)
	if err != nil {
		return nil, err
	}
	release()
	if res.Status.Code != OK {
		return nil, s.failed("get properties", &StatusError{res.Status})
	}
	return res, nil
}

// Reconnect ends the session. The client reconnects after the given number of
// seconds, or not at all if it is zero. Reconnect waits until the client has
// left. Most clients leave without an answer, which is not an error.
func (s *Session) Reconnect(ctx context.Context, seconds int64) error {
	_, release, err := call[*DisconnectRes](ctx, s, "reconnect", ReconnectIns{seconds})
	if err == nil {
		release()
	}
	if err == nil || errors.Is(err, ErrGone) {
		s.end(errDone)
		return nil
	}
	return err
}

func (s *Session) failed(verb string, err error) error {
	return fmt.Errorf("%s at %q: %w", verb, s.id, err)
}

// received is the result of an exchange.
type received struct {
	in  *inbound
	err error
}

// call sends an instruction and waits for its answer. The function that it returns
// releases the answer.
func call[A answer](ctx context.Context, s *Session, verb string, ins instruction) (A, func(), error) {
	var none A
	select {
	case s.turn <- struct{}{}:
	case <-s.ctx.Done():
		return none, nil, s.failed(verb, s.endError())
	case <-ctx.Done():
		if s.ctx.Err() != nil { // the context may be that of the session
			return none, nil, s.failed(verb, s.endError())
		}
		return none, nil, s.failed(verb, context.Cause(ctx))
	}
	if s.ctx.Err() != nil { // both were ready
		<-s.turn
		return none, nil, s.failed(verb, s.endError())
	}
	var w wire.Writer
	if err := ins.instruct(&w); err != nil {
		<-s.turn
		return none, nil, s.failed(verb, err)
	}
	if limit := s.gate.limit; int64(w.Len()) > limit {
		<-s.turn
		return none, nil, s.failed(verb, fmt.Errorf("%w: %d bytes, at most %d are sent", ErrTooLarge, w.Len(), limit))
	}
	fit, isFit := ins.(FitIns)
	in, err := s.exchange(ctx, outgoing{message: takeBuffers(&w), digest: isFit && fit.Digest})
	if err != nil {
		return none, nil, s.failed(verb, err)
	}
	got, err := decodeAnswer(in.blob())
	if err == nil {
		var ok bool
		if none, ok = got.(A); !ok {
			err = fmt.Errorf("%w: answered with a %T", ErrProtocol, got)
		}
	}
	if err != nil {
		in.free()
		s.end(err)
		return none, nil, s.failed(verb, err)
	}
	if res, ok := got.(*FitRes); ok {
		res.digest = in.digest
	}
	<-s.turn
	return none, in.free, nil
}

// outgoing is a message to a client.
type outgoing struct {
	message mem.BufferSlice
	// sent is called once the message has left, or has failed to. Nil if nothing is held
	// for it.
	sent func()
	// digest is whether the parameters of the answer are digested.
	digest bool
}

// exchange sends a message and waits for the next one. If it fails, the turn is not
// released: the session has ended, or the answer is still awaited.
func (s *Session) exchange(ctx context.Context, out outgoing) (*inbound, error) {
	s.gate.expectAnswer(out.digest)
	held := out.sent != nil
	if !held {
		out.sent = func() {}
	}
	result := s.stream.exchange(out.message, held, out.sent)
	var got received
	select {
	case got = <-result:
	case <-ctx.Done():
		if s.ctx.Err() != nil { // the context may be that of the session
			go discard(result)
			return nil, s.endError()
		}
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrSetAside) {
			go s.await(result)
			return nil, cause
		}
		if errors.Is(cause, context.DeadlineExceeded) {
			cause = fmt.Errorf("%w: %w", ErrTimeout, cause)
		}
		s.end(cause)
		go discard(result)
		return nil, cause
	case <-s.ctx.Done():
		go discard(result)
		return nil, s.endError()
	}
	if got.err == nil {
		return got.in, nil
	}
	if s.ctx.Err() != nil {
		return nil, s.endError() // the gate may have ended it with a better error
	}
	err := asGone(got.err)
	s.end(err)
	return nil, err
}

// await drops an answer that was set aside, and then allows the next instruction.
func (s *Session) await(result <-chan received) {
	got := <-result
	if got.err != nil {
		s.end(asGone(got.err))
		return
	}
	got.in.free()
	<-s.turn
}

// discard frees an answer that arrives after its instruction was abandoned.
func discard(result <-chan received) {
	if got := <-result; got.err == nil {
		got.in.free()
	}
}

// endError returns the error of a call on a session that has ended.
func (s *Session) endError() error {
	if err := s.Err(); err != nil {
		return err
	}
	return ErrGone
}

// asGone adds ErrGone to errors of the stream that mean that the client left.
func asGone(err error) error {
	switch code := status.Code(err); {
	case errors.Is(err, io.EOF), code == codes.Canceled, code == codes.Unavailable, errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case code == codes.Internal, code == codes.Unknown: // a body that ended early
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}
