package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/disk"
)

// Server is a list of blocks, with what only its command knows. Owner, Listeners and Blocks are
// required.
type Server struct {
	// Name is that of the server at its door. Empty means that of the command.
	Name string
	// Owner is the owner of the data folder, one of those in package datafolder.
	Owner string
	// Above is the folder above those of the blocks. Empty means that there is one block, and
	// that its stores are those of the server.
	Above string
	// Listeners are opened in this order. The first one that is guarded is where people sign in.
	Listeners []*Listener
	// Blocks are prepared, opened and run in this order.
	Blocks []Entry
	// Web is the listener with the routes and the pages of the first block. Nil means that the
	// blocks serve themselves.
	Web *Listener
	// Title is the name in the header of these pages.
	Title string
	// Front says that browsers that open "/" are led to the pages.
	Front bool
	// Console returns what Web serves in place of that, of all blocks in their order. Nil means
	// the first one's.
	Console func(env *Env, blocks []*Block) http.Handler
	// Events are those of the overview. Nil means that there is none.
	Events *overview.Events
	// Announce prints the addresses. Nil prints that of Web.
	Announce func(w io.Writer)
}

// Entry is a block of a [Server].
type Entry struct {
	Opener
	// Stores opens the stores of the block. It may be nil, and may return nil.
	Stores func(ctx context.Context, log *slog.Logger) (*stores.Stores, error)
	// Folder is that of the block below Server.Above.
	Folder string
	// Sessions says that the block's stores have the sessions of Server.Above.
	Sessions bool
	// Unsaved says that there are no backups.
	Unsaved bool
}

// Kept returns the function of [Entry.Stores] for the flags of the stores.
func Kept(settings *stores.Settings, owner string) func(context.Context, *slog.Logger) (*stores.Stores, error) {
	return func(ctx context.Context, log *slog.Logger) (*stores.Stores, error) {
		return settings.Open(ctx, stores.Config{Owner: owner, Logger: log})
	}
}

// Serve runs a server until ctx ends or one of its parts fails. Parsed is the error of reading
// the settings; with one it prints what was asked for instead, as [server.Flags.Serve] does.
func (f *Flags) Serve(ctx context.Context, parsed error, stdout, stderr io.Writer, s Server) error {
	return f.Flags.Serve(ctx, parsed, stdout, stderr, func(ctx context.Context, log *slog.Logger) error {
		r := &running{Server: s, flags: f, stdout: stdout, log: log, whole: &Env{closing: &closing{}}}
		return errors.Join(r.serve(ctx), r.whole.Close())
	})
}

// running is a server that runs.
type running struct {
	Server

	flags  *Flags
	stdout io.Writer
	log    *slog.Logger
	whole  *Env   // closes everything
	envs   []*Env // of the blocks
	access door.Config
	door   *door.Door
}

func (r *running) serve(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	addresses := sync.OnceFunc(r.announce)
	if err := r.wait(ctx, addresses); err != nil || ctx.Err() != nil {
		return err
	}
	var err error
	if r.door, err = r.flags.Door.Open(ctx, r.access); err != nil {
		return err
	}
	r.whole.Closing(r.door.Close)
	var blocks []*Block
	for i, entry := range r.Blocks {
		r.envs[i].Door = r.door
		block, err := entry.Open(ctx, r.envs[i])
		if err != nil {
			return err
		}
		blocks = append(blocks, block)
	}
	var parts []server.Part
	for _, block := range blocks {
		parts = append(parts, block.Run...)
	}
	if r.Web != nil {
		parts = append(parts, r.envs[0].Web(r.Web.Listener, r.handler(blocks)))
	}
	last := &parts[len(parts)-1]
	last.Announce = func() {
		addresses()
		r.door.Announce(r.stdout, r.access.Listeners[0])
		for _, block := range blocks {
			if block.Announce != nil {
				block.Announce(r.stdout)
			}
		}
	}
	for _, block := range blocks {
		parts = append(parts, block.Later...)
	}
	return server.Run(ctx, slices.Concat(r.backups(), []server.Part{r.door.Part()}, parts)...)
}

// open opens the listeners and the stores, and prepares the blocks.
func (r *running) open(ctx context.Context) error {
	r.access = door.Config{Name: r.Name, Dir: r.Above, Logger: r.log}
	if r.Name == "" {
		r.access.Name = r.flags.Name()
	}
	for _, l := range r.Listeners {
		if err := l.open(r.flags); err != nil {
			return err
		}
		if l.Listener != nil {
			r.whole.Closing(func() error {
				_ = l.Close() // closed already by the part that serves it
				return nil
			})
		}
	}
	for _, entry := range r.Blocks {
		env := &Env{Access: &r.access, Hosts: r.flags.Door.Hosts(), Events: r.Events, Logger: r.log, closing: r.whole.closing}
		r.envs = append(r.envs, env)
		if one, ok := entry.Opener.(FileReader); ok {
			if err := one.ReadFiles(ctx, env); err != nil {
				return err
			}
		}
	}
	if r.Above != "" {
		if err := datafolder.Claim(r.Above, r.Owner); err != nil {
			return fmt.Errorf("-data: %w", err)
		}
	}
	for i, entry := range r.Blocks {
		if err := r.openStores(ctx, entry, r.envs[i]); err != nil {
			return err
		}
	}
	for i, entry := range r.Blocks {
		if one, ok := entry.Opener.(Preparer); ok {
			if err := one.Prepare(ctx, r.envs[i]); err != nil {
				return err
			}
		}
	}
	for _, l := range r.Listeners {
		if l.Listener != nil && !l.Unguarded {
			r.access.Listeners = append(r.access.Listeners, l.Listener)
		}
	}
	return nil
}

// openStores opens the stores of a block.
func (r *running) openStores(ctx context.Context, entry Entry, env *Env) error {
	if entry.Stores == nil {
		return nil
	}
	kept, err := entry.Stores(ctx, r.log)
	if err != nil || kept == nil {
		return err
	}
	r.whole.Closing(kept.Close)
	env.Stores = kept
	if r.Above == "" {
		r.access.Dir, r.access.Shared = kept.Dir, kept.Shared
	}
	if r.Above == "" || entry.Sessions {
		r.access.Sessions = kept.Access()
	}
	return nil
}

// wait waits for the servers of the stores. It answers on the listeners meanwhile.
func (r *running) wait(ctx context.Context, announce func()) error {
	var listeners []*net.Listener
	for _, l := range r.Listeners {
		if l.Listener != nil && !l.Silent {
			listeners = append(listeners, &l.Listener)
		}
	}
	for _, env := range r.envs {
		if env.Stores == nil {
			continue
		}
		err := env.Stores.Wait(ctx, stores.Waiting{Listeners: listeners, TLS: r.flags.Door.TLS(), Announce: announce})
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// handler returns what the listener of the web interface serves.
func (r *running) handler(blocks []*Block) http.Handler {
	if r.Console != nil {
		return r.Console(r.envs[0], blocks)
	}
	first := blocks[0]
	return console.Mount(first.Routes, console.MountConfig{Name: r.Title, Front: r.Front, Person: r.door.Person, Parts: first.Pages})
}

// announce prints the addresses.
func (r *running) announce() {
	if r.Announce != nil {
		r.Announce(r.stdout)
		return
	}
	r.Web.Print(r.stdout, r.flags.Door.URL(r.Web))
}

// backups sets what the door answers with a backup, and returns the parts that serve backups.
func (r *running) backups() []server.Part {
	if r.Above != "" {
		folders := map[string]*disk.Store{}
		for i, entry := range r.Blocks {
			if kept := r.envs[i].Stores; kept != nil {
				folders[entry.Folder] = kept.Folder()
			}
		}
		source := backup.NewSource(backup.Config{Dir: r.Above, Owner: r.Owner, Logger: r.log, Stores: folders})
		r.door.BackUp(source.Handler())
		return []server.Part{source.Part()}
	}
	kept := r.envs[0].Stores
	switch {
	case r.Blocks[0].Unsaved:
		return nil
	case kept == nil:
		r.door.BackUp(backup.Of("", r.Owner, nil, r.log).Handler())
		return nil
	}
	r.door.BackUp(kept.Source().Handler())
	return kept.Backups()
}
