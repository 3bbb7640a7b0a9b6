package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/iotenablers/enablers/internal/server"
)

// Part returns the part of a server that serves backups on the socket of the folder. The
// stores are open while it runs: their locks say that no other server uses the socket. It
// is the first part of the server, so that a server that has announced itself has one.
// Where there can be no socket the log says so, and the server runs without.
func (s *Source) Part() server.Part {
	opened := make(chan struct{})
	return server.Part{
		Name: "backup", Ready: server.Opened(opened),
		Run: func(ctx context.Context) error { return s.run(ctx, sync.OnceFunc(func() { close(opened) })) },
	}
}

func (s *Source) run(ctx context.Context, ready func()) error {
	defer ready()
	if len(s.config.Stores) == 0 {
		ready()
		<-ctx.Done()
		return nil
	}
	listener, err := listen(ctx, s.config.Dir)
	ready()
	if err != nil {
		s.log.Warn("no backups beside this server over the socket of its data folder; stop it for a backup, or take one over REST",
			"error", err)
		<-ctx.Done()
		return nil
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // at the end of the server backups are cut off at once
		s.serve(w, r.WithContext(until))
	})
	return server.HTTP(listener, handler, s.log).Run(ctx)
}

// listen opens the socket, in place of one that a killed process has left.
func listen(ctx context.Context, dir string) (net.Listener, error) {
	name := filepath.Join(dir, SocketName)
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%q is not a socket; move it away and start again", name)
	default:
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	address, folder, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: ownerOnly}
	listener, err := config.Listen(ctx, "unix", address)
	if err == nil {
		err = os.Chmod(name, 0o600) // where Control cannot
	}
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return nil, errors.Join(fmt.Errorf("open socket %q: %w", name, err), folder.Close())
	}
	return &socket{listener, folder}, nil
}

// socket is a listener whose address is valid while a folder is open.
type socket struct {
	net.Listener
	folder io.Closer
}

// Close closes the listener, which removes the socket.
func (s *socket) Close() error {
	return errors.Join(s.Listener.Close(), s.folder.Close())
}

// Dial connects to the server that runs on a folder. The error matches
// [fs.ErrNotExist] or ECONNREFUSED when there is none with a socket.
func Dial(ctx context.Context, dir string) (_ net.Conn, err error) {
	name := filepath.Join(dir, SocketName)
	if _, err := os.Lstat(name); err != nil {
		return nil, err
	}
	address, folder, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", address)
}
