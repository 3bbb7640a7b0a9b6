package flower

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// ErrSetAside is the cause of a context with which an instruction is given up while the
// session goes on: the answer is awaited and dropped before the next instruction is sent.
var ErrSetAside = errors.New("flower: the instruction was set aside")

// relayHeader is the metadata of a stream that another server relays: a [Relayed] as JSON
// in base64 (RFC 4648, section 5, without padding).
const relayHeader = "flower-relay"

// maxRelayHeader bounds it, in bytes.
const maxRelayHeader = 16 << 10

// Relayed describes a client whose stream another server relays, as that server says.
type Relayed struct {
	// Token proves to ServerConfig.Relay that the caller is such a server.
	Token string `json:"token"`
	// Job is what the client is for.
	Job string `json:"job"`
	// Client is the name of the client's session.
	Client string `json:"client"`
	// Identity is a lasting name of the client; empty for none.
	Identity string `json:"identity,omitempty"`
	// Address is the network address of the client.
	Address string `json:"address"`
	// Name is that of its token, and Label the one that it gives itself; empty for none.
	Name  string `json:"name,omitempty"`
	Label string `json:"label,omitempty"`
	// Header is further metadata of the client's call, by lower-case keys. Nil is none.
	Header map[string]string `json:"header,omitempty"`
}

func (r Relayed) header() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	header := base64.RawURLEncoding.EncodeToString(text)
	if len(header) > maxRelayHeader {
		return "", fmt.Errorf("relay: the description of the client has %d bytes, at most %d are sent", len(header), maxRelayHeader)
	}
	return header, nil
}

func readRelayed(header string) (r Relayed, err error) {
	if len(header) > maxRelayHeader {
		return r, fmt.Errorf("read %s: it has %d bytes, at most %d are read", relayHeader, len(header), maxRelayHeader)
	}
	text, err := base64.RawURLEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", relayHeader, err)
	}
	return r, nil
}

// relayed makes a session that of the client that another server relays, if the call says
// so. The status refuses the call.
func (s *Server) relayed(session *Session, r *http.Request) (bool, *status.Status) {
	header := r.Header.Get(relayHeader)
	if header == "" {
		return false, nil
	}
	from, err := readRelayed(header)
	if err == nil && s.config.Relay == nil {
		err = errors.New("this server takes no clients of other servers")
	}
	if err == nil {
		err = s.config.Relay(from.Token)
	}
	if err != nil {
		s.warnings.warn(s.config.Logger, r.RemoteAddr, "a relayed client was refused: "+err.Error(), r.URL.Path)
		return true, status.New(codes.PermissionDenied, err.Error())
	}
	from.Token = ""
	session.id = from.Client
	session.peer = Peer{Addr: from.Address, Name: from.Name, Relay: &from, Header: func(key string) string {
		if strings.EqualFold(key, nameHeader) {
			return from.Label
		}
		return from.Header[strings.ToLower(key)]
	}}
	return true, nil
}

// RelayConfig configures [Session.Relay].
type RelayConfig struct {
	// Target is the server that the client is relayed to, host and port. Required.
	Target string
	// TLS is that of the connection to it. Nil means an unencrypted connection.
	TLS *tls.Config
	// Client describes the client. Required.
	Client Relayed
	// Dial replaces the way to connect, for tests without a network. Nil means TCP.
	Dial func(ctx context.Context, target string) (net.Conn, error)
}

// Relay has another server instruct the client until that server ends its session, and
// returns the seconds after which it wants the client to come back; 0 means never. The
// client's session goes on. When the other server fails, or the context ends, Relay
// returns an error at once: an answer that the client owes is dropped when it comes, and
// the next instruction waits for that. An error of the other server that matches [ErrUnfit]
// is returned as the client is to get it. Messages are passed on as they are. Those of all
// relays of a server have as much memory again as ServerConfig.Uploads, and wait for it.
func (s *Session) Relay(ctx context.Context, config RelayConfig) (seconds int64, err error) {
	header, err := config.Client.header()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := context.AfterFunc(s.ctx, func() { cancel(s.endError()) })
	defer leave()
	other, err := openLink(ctx, config, header, s.gate.limit)
	if err != nil {
		return 0, fmt.Errorf("relay to %s: %w", config.Target, err)
	}
	defer other.wait()
	s.relaying.Store(true)
	defer s.relaying.Store(false)
	instructions := make(chan *inbound)
	var reader sync.WaitGroup
	reader.Go(func() { s.receiveRelayed(ctx, other, instructions, cancel) })
	defer reader.Wait()
	defer cancel(nil)
	for {
		reconnect, err := s.relayOne(ctx, other, instructions)
		if cause := context.Cause(ctx); errors.Is(cause, ErrUnfit) {
			return 0, cause
		}
		if err != nil {
			return 0, fmt.Errorf("relay to %s: %w", config.Target, err)
		}
		if reconnect != nil {
			return reconnect.Seconds, nil
		}
	}
}

// receiveRelayed passes on instructions as they arrive. With the stream it ends the context.
func (s *Session) receiveRelayed(ctx context.Context, other *link, instructions chan<- *inbound, cancel context.CancelCauseFunc) {
	for {
		in, err := other.receive(func(size int64) (func(), error) { return s.relays.acquire(ctx, size) })
		if err != nil {
			if err = orUnfit(err); !errors.Is(err, ErrUnfit) {
				err = fmt.Errorf("%w: %w", ErrSetAside, err)
			}
			cancel(err)
			return
		}
		select {
		case instructions <- in:
		case <-ctx.Done():
			in.free()
			return
		}
	}
}

// relayOne passes on an instruction and its answer.
func (s *Session) relayOne(ctx context.Context, other *link, instructions <-chan *inbound) (*ReconnectIns, error) {
	var in *inbound
	select {
	case in = <-instructions:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ins, err := decodeInstruction(in.blob())
	if err != nil {
		in.free()
		return nil, err
	}
	if reconnect, ok := ins.(ReconnectIns); ok {
		in.free()
		var w wire.Writer
		if err := (&DisconnectRes{ReasonReconnect}).reply(&w); err != nil {
			return nil, err
		}
		if other.send(takeBuffers(&w)) == nil {
			other.finish()
			<-ctx.Done() // the other server ends the stream, having read the answer
		}
		return &reconnect, nil
	}
	out, free, err := s.forward(ctx, in)
	if err != nil {
		return nil, err
	}
	defer free()
	if err := other.send(out.buffers); err != nil {
		<-ctx.Done() // receiveRelayed knows the cause
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// forward sends an instruction as it was received, and returns the answer, which the
// function frees. The instruction is freed once the client has it.
func (s *Session) forward(ctx context.Context, in *inbound) (*inbound, func(), error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		in.free()
		return nil, nil, context.Cause(ctx)
	}
	out, err := s.exchange(ctx, outgoing{message: in.buffers, sent: in.free})
	if err != nil {
		return nil, nil, err
	}
	return out, func() {
		out.free()
		<-s.turn
	}, nil
}
