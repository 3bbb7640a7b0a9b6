package flower

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/internal/retry"
)

// ErrNotImplemented is returned by a [Trainer] for an instruction that it does
// not implement. The client sends that to the server, and the session
// continues.
var ErrNotImplemented = errors.New("flower: instruction unknown to this client")

// Trainer carries out the instructions of the server. Its methods are called one
// at a time. The contents of an instruction are valid until the method returns;
// copy parameters that are kept. The server receives the Status of a *[StatusError] as
// the answer, and the session continues, as with [ErrNotImplemented]. Any other error
// ends the client.
type Trainer interface {
	// Properties returns the client's properties.
	Properties(ctx context.Context, ins GetPropertiesIns) (Config, error)
	// Parameters returns the client's model.
	Parameters(ctx context.Context, ins GetParametersIns) (Parameters, error)
	// Fit trains. The Status of the answer is ignored.
	Fit(ctx context.Context, ins FitIns) (*FitRes, error)
	// Evaluate measures. The Status of the answer is ignored.
	Evaluate(ctx context.Context, ins EvaluateIns) (*EvaluateRes, error)
}

// ClientConfig configures a [Client].
type ClientConfig struct {
	// Target is the server, host and port. Required.
	Target string
	// Trainer carries out instructions. Required.
	Trainer Trainer
	// TLS makes the client use TLS, with a client certificate if it has one. Nil
	// means an unencrypted connection.
	TLS *tls.Config
	// Token is sent as a bearer token in the metadata "authorization" of every call, for
	// a server that requires one. Without TLS it crosses the network in the clear. Empty
	// sends none.
	Token string
	// Name is a name for people, such as that of a hospital. It is sent in the metadata
	// "client-name" of every call, and proves nothing: [Peer.Label] returns it. It is
	// printable ASCII, of at most [MaxName] characters. Empty sends none.
	Name string
	// Header is further metadata of every call, which Peer.Header of the server returns. Keys
	// are lower case, values printable ASCII. Nil is none.
	Header map[string]string
	// MaxMessage is the largest message in bytes, in both directions, at most
	// [MaxMessage]. Zero means [DefaultMaxMessage].
	MaxMessage int64
	// Patience is how long the client tries to join again, with growing pauses of up to
	// 10 seconds, after a session that broke or while the server cannot be reached. It
	// begins anew with every answer. Errors of the Trainer and refusals end the
	// client all the same. Zero ends it at the first failure, as with Flower.
	Patience time.Duration
	// Joined is called by Run whenever the server has answered the connection and a session
	// begins. Nil does nothing.
	Joined func()
	// Dial replaces the way to connect, for tests without a network.
	Dial func(ctx context.Context, target string) (net.Conn, error)
}

// Client is a Flower client. It is safe for concurrent use; every call of Run
// joins as a client of its own. Make one with [NewClient].
type Client struct{ config ClientConfig }

// NewClient checks the configuration and returns a client. It does not connect.
func NewClient(config ClientConfig) (*Client, error) {
	if config.MaxMessage == 0 {
		config.MaxMessage = DefaultMaxMessage
	}
	switch {
	case config.Target == "":
		return nil, errors.New("configure flower client: Target is required")
	case config.Trainer == nil:
		return nil, errors.New("configure flower client: Trainer is required")
	case config.MaxMessage < 1 || config.MaxMessage > MaxMessage:
		return nil, fmt.Errorf("configure flower client: MaxMessage is %d, must be 1 to %d", config.MaxMessage, MaxMessage)
	case !isLabel(config.Name):
		return nil, fmt.Errorf("configure flower client: Name is %q, must be printable ASCII of at most %d characters",
			config.Name, MaxName)
	}
	return &Client{config}, nil
}

// Run joins the server and carries out instructions until the server ends the
// session, which is not an error, or until something fails for longer than
// [ClientConfig].Patience allows. If the server says when to reconnect, Run joins
// it again then.
func (c *Client) Run(ctx context.Context) error {
	r := patience{most: c.config.Patience, pauses: retry.Backoff{Least: firstRetry, Most: mostRetry}}
	for {
		seconds, err := c.session(ctx, &r)
		var pause time.Duration
		switch {
		case err != nil:
			if pause = r.after(err); pause == 0 || ctx.Err() != nil {
				return fmt.Errorf("flower client of %s: %w", c.config.Target, err)
			}
		case seconds <= 0:
			return nil
		default:
			r.reset()
			pause = time.Duration(min(seconds, int64(maxPause/time.Second))) * time.Second
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// maxPause bounds the time that a server can make a client wait before it
// reconnects.
const maxPause = 30 * 24 * time.Hour

// session serves one stream and returns the seconds after which to reconnect.
func (c *Client) session(ctx context.Context, r *patience) (int64, error) {
	var options []grpc.DialOption
	if c.config.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearerToken(c.config.Token)))
	}
	connection, err := dialTransport(c.config.Target, c.config.TLS, c.config.Dial, c.config.MaxMessage, options...)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.config.Name != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, nameHeader, c.config.Name)
	}
	for key, value := range c.config.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	description := grpc.StreamDesc{StreamName: "Join", ServerStreams: true, ClientStreams: true}
	stream, err := connection.NewStream(ctx, &description, joinPath)
	if err != nil {
		return 0, err
	}
	if c.config.Joined != nil {
		c.config.Joined()
	}
	arrivals := make(chan received)
	var reader sync.WaitGroup
	reader.Go(func() { receive(ctx, stream, arrivals, cancel) })
	defer reader.Wait()
	defer cancel(nil)
	for {
		reconnect, err := c.serveInstruction(ctx, stream, arrivals)
		if err != nil {
			return 0, err
		}
		r.reset()
		if reconnect != nil {
			return reconnect.Seconds, nil
		}
	}
}

// dialTransport returns a connection to a server, which is made with the first stream.
func dialTransport(target string, secure *tls.Config, dial func(context.Context, string) (net.Conn, error), most int64,
	options ...grpc.DialOption,
) (*grpc.ClientConn, error) {
	safe := insecure.NewCredentials()
	if secure != nil {
		safe = credentials.NewTLS(secure)
	}
	options = append(options,
		grpc.WithTransportCredentials(safe),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(int(most)), grpc.MaxCallSendMsgSize(int(most)),
		),
		grpc.WithDisableServiceConfig(),
	)
	if dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
		target = "passthrough:///" + target
	}
	return grpc.NewClient(target, options...)
}

// MaxName is the greatest length of the name that a client gives itself.
const MaxName = 64

// nameHeader is the metadata with the name that a client gives itself.
const nameHeader = "client-name"

// bearerToken are credentials that are a token.
type bearerToken string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t bearerToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (t bearerToken) RequireTransportSecurity() bool { return false }

// receive passes on messages as they arrive. It ends the context with the
// stream, so that training ends when the server is gone.
func receive(ctx context.Context, stream grpc.ClientStream, arrivals chan<- received, cancel context.CancelCauseFunc) {
	for {
		in := &inbound{}
		err := stream.RecvMsg(in)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w without a reconnect instruction", ErrGone)
		}
		if err != nil {
			cancel(orUnfit(err))
			return
		}
		select {
		case arrivals <- received{in: in}:
		case <-ctx.Done():
			in.free()
			return
		}
	}
}

// orUnfit returns the error of a stream, with ErrUnfit in it if that was sent.
func orUnfit(err error) error {
	if reason, ok := strings.CutPrefix(status.Convert(err).Message(), ErrUnfit.Error()); ok {
		return fmt.Errorf("%w%s", ErrUnfit, reason)
	}
	return err
}

// serveInstruction waits for one instruction and answers it.
func (c *Client) serveInstruction(ctx context.Context, stream grpc.ClientStream, arrivals <-chan received) (*ReconnectIns, error) {
	var in *inbound
	select {
	case got := <-arrivals:
		in = got.in
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer in.free()
	ins, err := decodeInstruction(in.blob())
	if err != nil {
		return nil, err
	}
	reply, reconnect, err := c.carryOut(ctx, ins)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause // the server ended it, not the trainer
		}
		return nil, &finalError{err}
	}
	var w wire.Writer
	if err := reply.reply(&w); err != nil {
		return nil, err
	}
	if err := stream.SendMsg(&w); err != nil {
		if reconnect != nil {
			return reconnect, nil // the server did not wait for the answer
		}
		if errors.Is(err, io.EOF) {
			drain(ctx, arrivals) // receive knows the cause
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if reconnect != nil {
		_ = stream.CloseSend() // there is nothing more to send
		drain(ctx, arrivals)   // the server ends the stream, having read the answer
	}
	return reconnect, nil
}

// drain frees what arrives until the stream ends.
func drain(ctx context.Context, arrivals <-chan received) {
	for {
		select {
		case got := <-arrivals:
			got.in.free()
		case <-ctx.Done():
			return
		}
	}
}

// carryOut returns the answer to an instruction.
func (c *Client) carryOut(ctx context.Context, ins instruction) (answer, *ReconnectIns, error) {
	switch ins := ins.(type) {
	case ReconnectIns:
		return &DisconnectRes{ReasonReconnect}, &ins, nil
	case GetPropertiesIns:
		properties, err := c.config.Trainer.Properties(ctx, ins)
		status, err := statusFor(err, GetPropertiesNotImplemented)
		return &PropertiesRes{status, properties}, nil, err
	case GetParametersIns:
		parameters, err := c.config.Trainer.Parameters(ctx, ins)
		status, err := statusFor(err, GetParametersNotImplemented)
		return &ParametersRes{Status: status, Parameters: parameters}, nil, err
	case FitIns:
		res, err := c.config.Trainer.Fit(ctx, ins)
		if res == nil {
			res = &FitRes{}
		}
		res.Status, err = statusFor(err, FitNotImplemented)
		return res, nil, err
	case EvaluateIns:
		res, err := c.config.Trainer.Evaluate(ctx, ins)
		if res == nil {
			res = &EvaluateRes{}
		}
		res.Status, err = statusFor(err, EvaluateNotImplemented)
		return res, nil, err
	}
	return nil, nil, fmt.Errorf("%w: an instruction of type %T", ErrProtocol, ins)
}

// statusFor returns the status for an error of the trainer, or the error if it
// ends the client.
func statusFor(err error, code Code) (Status, error) {
	if errors.Is(err, ErrNotImplemented) {
		return Status{code, err.Error()}, nil
	}
	var failed *StatusError
	if errors.As(err, &failed) && failed.Code != OK {
		return failed.Status, nil
	}
	return Status{Message: "Success"}, err
}
