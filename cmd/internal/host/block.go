package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

// Block is a building block that is open. Every field may be empty.
type Block struct {
	// Routes is the REST interface, without the door.
	Routes http.Handler
	// Pages are its pages in a console.
	Pages []console.Part
	// Run is what runs, in the order of the start. The Announce of the last part of a server is the
	// server's.
	Run []server.Part
	// Later is what starts when the server has announced itself.
	Later []server.Part
	// Announce prints what people have to know at the start, besides addresses.
	Announce func(w io.Writer)
	// Overview returns its state for an overview.
	Overview func() overview.Block
}

// Opener is a block with its configuration.
type Opener interface {
	// Open opens the block. What has to be closed is given to [Env.Closing].
	Open(ctx context.Context, env *Env) (*Block, error)
}

// FileReader is an [Opener] that reads files which its settings name, and refuses settings that
// cannot work, before a store is opened.
type FileReader interface {
	// ReadFiles is called once. The environment has neither stores nor a door yet.
	ReadFiles(ctx context.Context, env *Env) error
}

// Preparer is an [Opener] that needs the folders of the stores, or completes the configuration of the
// door, before that is open and before the servers of the stores have answered.
type Preparer interface {
	// Prepare is called once, before Open.
	Prepare(ctx context.Context, env *Env) error
}

// OpenFunc is an [Opener] that is a function.
type OpenFunc func(ctx context.Context, env *Env) (*Block, error)

// Open implements Opener.
func (f OpenFunc) Open(ctx context.Context, env *Env) (*Block, error) { return f(ctx, env) }

// Env is what a server gives to a block.
type Env struct {
	// Stores are those of the block, nil if it stores nothing.
	Stores *stores.Stores
	// Access configures the door, for [Preparer.Prepare] to complete.
	Access *door.Config
	// Door is the door. It is nil while blocks prepare.
	Door *door.Door
	// Hosts are further names of the server, as in httpapi.Options.
	Hosts []string
	// Events are those of the overview, nil without one.
	Events *overview.Events
	// Logger is the log of the server.
	Logger *slog.Logger

	closing *closing // shared by the blocks of a server
}

// closing is what is closed at the end.
type closing struct{ functions []func() error }

// Closing has the server call a function at its end, before those of earlier calls.
func (e *Env) Closing(f func() error) {
	if e.closing == nil {
		e.closing = &closing{}
	}
	e.closing.functions = append(e.closing.functions, f)
}

// Close calls the functions of [Env.Closing], those of all blocks of a server. A second Close
// returns nil.
func (e *Env) Close() error {
	if e.closing == nil {
		return nil
	}
	var errs []error
	for _, f := range slices.Backward(e.closing.functions) {
		errs = append(errs, f())
	}
	e.closing.functions = nil
	return errors.Join(errs...)
}

// BlockLogger returns the log of a block, of whose lines the overview shows some.
func (e *Env) BlockLogger(source overview.Source) *slog.Logger {
	if e.Events == nil {
		return e.Logger
	}
	return e.Events.Logger(e.Logger, source)
}

// Web returns the part that serves a handler behind the door on a listener.
func (e *Env) Web(listener net.Listener, handler http.Handler) server.Part {
	return server.HTTP(e.Door.Listener(listener), e.Door.Handler(handler), e.Logger)
}
