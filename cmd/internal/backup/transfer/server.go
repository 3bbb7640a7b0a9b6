package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/storage/disk"
)

// openData begins a backup of a data folder: of the server that runs on it, or of the
// folder itself.
func openData(ctx context.Context, dir string) (*archive, error) {
	conn, err := backup.Dial(ctx, dir)
	switch {
	case err == nil:
		return request(ctx, conn)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("connect to the server: %w; only the owner of the folder can", err)
	}
	return openStopped(ctx, dir)
}

// request requests the archive over a connection to a server.
func request(ctx context.Context, conn net.Conn) (_ *archive, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // Close returns the error again
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://backup/", nil)
	if err != nil {
		return nil, err
	}
	r.Close = true
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		const most = 4 << 10
		text, _ := io.ReadAll(io.LimitReader(answer.Body, most)) // what there is of the reason
		return nil, fmt.Errorf("the server answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return &archive{answer.Body, func() error {
		stop()
		if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}}, nil
}

// openStopped begins a backup of a folder on which no server runs.
func openStopped(ctx context.Context, dir string) (*archive, error) {
	stopped, err := backup.OpenStopped(ctx, dir)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("%w: its server serves no backups at %q. It may be of an earlier version, which has to be stopped "+
			"for a backup, or the folder may be that of one block of enablers: then back up the folder above", err, dir)
	}
	if err != nil {
		return nil, err
	}
	stream, err := stopped.Begin(ctx)
	if err != nil {
		return nil, errors.Join(err, stopped.Close())
	}
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = writer.CloseWithError(stream.Write(ctx, writer)) // always nil
	}()
	return &archive{reader, func() error {
		err := reader.Close() // ends the writing
		<-done
		return errors.Join(err, stream.Close(), stopped.Close())
	}}, nil
}
