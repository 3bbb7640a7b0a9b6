//go:build unix

package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// serviceManager reads what a process says to its service manager, as it comes: a socket holds
// few messages, and a process waits where it is full.
type serviceManager struct {
	t      *testing.T
	conn   *net.UnixConn
	states chan string
}

// manage listens at an address, and has the process of the test notify it.
func manage(t *testing.T, address string) *serviceManager {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	require.NoError(t, err)
	m := &serviceManager{t, conn, make(chan string, 100_000)}
	var reading sync.WaitGroup
	reading.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			m.states <- string(buffer[:n])
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	t.Setenv("NOTIFY_SOCKET", address)
	return m
}

// next returns the next state.
func (m *serviceManager) next() string {
	m.t.Helper()
	select {
	case state := <-m.states:
		return state
	case <-time.After(patience):
		m.t.Fatal("the process says nothing")
		return ""
	}
}

// requireNothing checks that a process that has ended has said nothing more.
func (m *serviceManager) requireNothing() {
	m.t.Helper()
	_, err := m.conn.WriteTo([]byte("the end"), m.conn.LocalAddr())
	require.NoError(m.t, err)
	require.Equal(m.t, "the end", m.next())
}

// command runs parts with the frame of a command.
func command(flags func(*server.Flags), parts func(ctx context.Context, log *slog.Logger) []server.Part) servertest.Run {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		f := server.NewFlags("command", "COMMAND", "")
		f.Logging("unused.log")
		f.Lifecycle()
		f.String("where", "", "")
		if flags != nil {
			flags(f)
		}
		return f.Serve(ctx, f.Parse(args), stdout, stderr, func(ctx context.Context, log *slog.Logger) error {
			return server.Run(ctx, parts(ctx, log)...)
		})
	}
}

// idle is a part that runs until it is stopped.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func TestRun_notifiesTheServiceManager(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	ready := make(chan struct{})
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "slow", Run: idle, Ready: server.Opened(ready)}}
	}))
	close(ready) // READY is said after it: else the next line would wait for ever
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	require.NoError(t, p.Stop())
	require.Equal(t, "STOPPING=1\nSTATUS=stopping", m.next())
}

func TestRun_isNotReadyForTheServiceManagerWhereAPartFails(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "toast", Run: func(context.Context) error { return errors.New("no bread") },
			Ready: func() error { return errors.New("never") }}}
	}))
	require.ErrorContains(t, p.Wait(), "no bread")
	m.requireNothing()
}

func TestRun_saysOnceThatTheServiceManagerIsAway(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "missing"))
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "part", Run: idle}}
	}))
	p.Log.Await(t, "cannot be notified")
	require.NoError(t, p.Stop())
	require.Equal(t, 1, strings.Count(p.Log.String(), "cannot be notified"))
}

func TestRun_givesSignsOfLifeWhileThePartsWork(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("WATCHDOG_USEC", "20000")
	var fault atomic.Pointer[error]
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "engine", Run: idle, Healthy: func(context.Context) error {
			if err := fault.Load(); err != nil {
				return *err
			}
			return nil
		}}}
	}))
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	for range 3 {
		require.Equal(t, "WATCHDOG=1", m.next())
	}
	stuck := errors.New("stuck")
	fault.Store(&stuck)
	p.Log.Await(t, `part=engine error=stuck`)
	require.NoError(t, p.Stop())
	for state := m.next(); !strings.HasPrefix(state, "STOPPING=1"); state = m.next() {
		require.Equal(t, "WATCHDOG=1", state, "said before the fault")
	}
}

func TestRun_stopsWhileAPartIsAskedWhetherItWorks(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("WATCHDOG_USEC", "20000")
	interrupt := make(chan func(), 1)
	p := servertest.Start(t, command(nil, func(context.Context, *slog.Logger) []server.Part {
		return []server.Part{{Name: "engine", Run: idle, Healthy: func(ctx context.Context) error {
			select {
			case stop := <-interrupt:
				stop()
				if errors.Is(ctx.Err(), context.Canceled) {
					return ctx.Err()
				}
			default:
			}
			return nil
		}}}
	}))
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	interrupt <- p.Interrupt
	require.NoError(t, p.Wait())
	require.NotContains(t, p.Log.String(), "level=ERROR", "a stop is not a fault of the part")
}

func TestRun_drainsBeforeItStops(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /readyz", Func: httpapi.Ready(func() error { return nil })},
		{Pattern: "GET /work", Func: httpapi.Live},
	}, nil)
	p := servertest.Start(t, command(nil, func(_ context.Context, log *slog.Logger) []server.Part {
		return []server.Part{server.HTTP(listener, h, log), {Name: "over", Run: func(ctx context.Context) error {
			select {
			case <-over:
			case <-ctx.Done():
			}
			return nil
		}}}
	}), "-drain-delay", "1h")
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	ask := func(path string) (status int, closes bool) {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, answer.Close
	}
	status, closes := ask("/readyz")
	require.Equal(t, 200, status)
	require.False(t, closes)
	p.Interrupt()
	require.Equal(t, "STOPPING=1\nEXTEND_TIMEOUT_USEC=3660000000\nSTATUS=draining", m.next())
	status, closes = ask("/readyz")
	require.Equal(t, 503, status)
	require.True(t, closes)
	status, closes = ask("/work")
	require.Equal(t, 200, status, "requests are still answered")
	require.True(t, closes)
	close(over) // the end of a part ends the delay
	require.NoError(t, p.Wait())
}

func TestFlags_Lifecycle_refusesADelayOfLessThanNothing(t *testing.T) {
	f := server.NewFlags("command", "COMMAND", "")
	f.Lifecycle()
	require.ErrorContains(t, f.Parse([]string{"-drain-delay", "-1s"}), "expected 0 or more, got -1s")
	f = server.NewFlags("command", "COMMAND", "")
	f.Lifecycle()
	require.ErrorContains(t, f.Parse([]string{"-drain-delay", "soon"}), "expected a time such as 15s")
}

func TestRun_readsFilesAgainAtASIGHUP(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"))
	dir := t.TempDir()
	config, logFile := filepath.Join(dir, "config"), filepath.Join(dir, "log")
	write := func(text string) { require.NoError(t, os.WriteFile(config, []byte(text), 0o600)) }
	write("log-level info\nwhere here\n")
	var log *slog.Logger
	reloads, fault := 0, errors.New("no such certificate")
	p := servertest.Start(t, command(nil, func(_ context.Context, l *slog.Logger) []server.Part {
		log = l
		return []server.Part{
			server.Reloading("tokens", func(context.Context) error { reloads++; return nil }),
			server.Reloading("certificate", func(context.Context) error { return fault }),
		}
	}), "-config", config, "-log-to-file", "-log-file", logFile)
	hangUp := func() {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		require.Regexp(t, `^RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=reloading$`, m.next())
		require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	}
	require.Equal(t, "READY=1\nSTATUS=serving", m.next())
	log.Debug("first detail")

	require.NoError(t, os.Rename(logFile, logFile+".old"))
	write("log-level debug\nwhere secret-place\n")
	hangUp()
	log.Debug("second detail")
	require.Equal(t, 1, reloads)
	text, err := os.ReadFile(logFile)
	require.NoError(t, err, "the file of the name is opened again")
	require.Contains(t, string(text), "second detail")
	require.NotContains(t, p.Log.String(), "first detail")
	for _, want := range []string{`what="log file, log-level, tokens"`, `part=certificate error="no such certificate"`, "settings=where"} {
		require.Contains(t, string(text), want)
	}
	require.NotContains(t, string(text), "secret-place", "settings may be secrets")

	write("log-level loud\n")
	hangUp()
	require.Contains(t, p.Log.String(), `invalid value \"loud\"`)
	log.Debug("third detail")
	require.Contains(t, p.Log.String(), "third detail", "the level from before holds")
	require.NoError(t, os.Remove(config))
	hangUp()
	require.Contains(t, p.Log.String(), "read settings (-config)")
	require.Equal(t, 3, reloads)
	require.NoError(t, p.Stop())
}

func TestHTTP_worksWhileItsHandlerAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	stuck := make(chan struct{})
	var goesOn atomic.Bool
	part := server.HTTP(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if !goesOn.Load() {
			<-stuck
		}
		panic(http.ErrAbortHandler)
	}), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, part.Healthy(ctx), "GET /healthz is not answered")
	require.ErrorContains(t, part.Healthy(ctx), "GET /healthz is not answered")
	goesOn.Store(true)
	close(stuck)
	require.NoError(t, part.Healthy(t.Context()), "the request from before is answered")
	require.NoError(t, part.Healthy(t.Context()))
}
