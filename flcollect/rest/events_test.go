package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/rest"
)

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// event is an event as a client reads it.
type event struct{ name, id, data string }

// listener reads a stream of events.
type listener struct {
	t    *testing.T
	r    *http.Response
	scan *bufio.Scanner
}

// patience is how long tests wait for what must come.
const patience = 30 * time.Second

// dialer connects to an address.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// listen opens a stream of events. A nil dialer uses the network of this machine.
func listen(t *testing.T, dial dialer, address, lastEventID string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: dial}
	request, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	require.NoError(t, err)
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return &listener{t, answer, bufio.NewScanner(answer.Body)}
}

// next returns the next event; one without a name is the end of the stream.
func (l *listener) next() event {
	l.t.Helper()
	var e event
	for l.scan.Scan() {
		name, value, _ := strings.Cut(l.scan.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e
			}
		}
	}
	require.NoError(l.t, l.scan.Err())
	return e
}

func (l *listener) nextStatus() (status report.State, id string) {
	l.t.Helper()
	e := l.next()
	require.Equal(l.t, "status", e.name, e.data)
	var data struct{ Status report.State }
	require.NoError(l.t, json.Unmarshal([]byte(e.data), &data))
	return data.Status, e.id
}

func (l *listener) requireRound(id string) {
	l.t.Helper()
	e := l.next()
	require.Equal(l.t, "round", e.name, e.data)
	require.Equal(l.t, id, e.id)
	var round report.Round
	require.NoError(l.t, json.Unmarshal([]byte(e.data), &round))
	require.Equal(l.t, strings.Split(id, ".")[1], string(mustJSON(l.t, round.Number)))
}

func (l *listener) requireStatus(want report.State, wantID string) {
	l.t.Helper()
	status, id := l.nextStatus()
	require.Equal(l.t, want, status)
	require.Equal(l.t, wantID, id)
}

// serverTimeout is what a stream has to outlive.
const serverTimeout = 5 * time.Second

// memory is a listener without sockets. No time passes on a fake clock while a goroutine waits
// for a socket.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (m memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m memory) Close() error {
	close(m.closed)
	return nil
}

func (m memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (m memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveBoard serves a board in memory, and returns what opens a stream of its events.
func serveBoard(t *testing.T, b *jobstest.Board) func(path, lastEventID string) *listener {
	t.Helper()
	server := &http.Server{Handler: rest.HandlerFor(b, nil), ReadTimeout: serverTimeout, WriteTimeout: serverTimeout}
	at, served := memory{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
	go func() { served <- server.Serve(at) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return func(path, lastEventID string) *listener {
		t.Helper()
		return listen(t, at.dial, "http://127.0.0.1/job/events/"+path, lastEventID)
	}
}

func TestNewHandler_streamsPastAndComingEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a/b", Run: 4, State: report.Training, Config: jobconfig.Config{Rounds: 3}})
		b.Round("a/b", 2)
		l := serveBoard(t, b)("a%2Fb", "")
		require.Equal(t, "text/event-stream", l.r.Header.Get("Content-Type"))
		l.requireStatus(report.Training, "4.0")
		l.requireRound("4.1")
		l.requireRound("4.2")
		last := 2
		for range 3 {
			time.Sleep(serverTimeout)
			last++
			b.Round("a/b", 1)
			e := l.next()
			for e.name == "status" {
				e = l.next()
			}
			require.Equal(t, fmt.Sprintf("4.%d", last), e.id)
		}
		b.Job(flcollect.Status{Job: "a/b", Run: 4, State: report.Finished, Round: last, Stored: true})
		for {
			if status, id := l.nextStatus(); status == report.Finished {
				require.Equal(t, fmt.Sprintf("4.%d.end", last), id)
				break
			}
		}
		require.Equal(t, event{}, l.next())
	})
}

func TestNewHandler_resumesAStreamOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 4, State: report.Training})
		b.Round("a", 250)
		b.Job(flcollect.Status{Job: "a", Run: 4, State: report.Interrupted, Round: 250})
		open := serveBoard(t, b)
		for lastEventID, first := range map[string]string{
			"4.248": "4.249", "3.248": "4.1", "3.9.end": "4.1", "nonsense": "4.1", "4.-1": "4.1", "4.1.2.3": "4.1", "": "4.1",
		} {
			l := open("a", lastEventID)
			l.requireRound(first)
			if first == "4.249" {
				l.requireRound("4.250")
				l.requireStatus(report.Interrupted, "4.250.end")
				require.Equal(t, event{}, l.next())
			}
		}
		l := open("a?after=249", "")
		l.requireRound("4.250")
		l = open("a?after=249", "3.9")
		l.requireRound("4.1")
		l = open("a", "4.250.end")
		require.Equal(t, http.StatusNoContent, l.r.StatusCode)
		l = open("ax", "")
		require.Equal(t, http.StatusNotFound, l.r.StatusCode)
	})
}

func TestNewHandler_streamsAllRoundsOfANewRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		b.Round("a", 2)
		l := serveBoard(t, b)("a", "")
		l.requireStatus(report.Training, "1.0")
		l.requireRound("1.1")
		l.requireRound("1.2")
		b.Job(flcollect.Status{Job: "a", Run: 2, State: report.Waiting, Round: -1})
		l.requireStatus(report.Waiting, "2.0")
		b.Round("a", 1)
		l.requireRound("2.1")
	})
}

// silent is a connection that takes what it is sent until it is full, and
// remembers its deadline.
type silent struct {
	*httptest.ResponseRecorder
	full      int
	deadline  time.Time
	truncated bool
}

func (s *silent) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }

func (s *silent) Write(p []byte) (int, error) {
	if s.Body.Len()+len(p) <= s.full {
		return s.ResponseRecorder.Write(p)
	}
	time.Sleep(time.Until(s.deadline)) // in a bubble: no time passes
	s.truncated = true
	return 0, errors.New("write: timeout")
}

func (s *silent) FlushError() error { return nil }

func TestNewHandler_doesNotWaitForAReaderOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		b.Round("a", 100_000)
		w := &silent{ResponseRecorder: httptest.NewRecorder(), full: 100_000}
		begin, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			rest.HandlerFor(b, nil).ServeHTTP(w, httptest.NewRequest("GET", "/job/events/a", nil))
		}()
		<-done
		require.True(t, w.truncated)
		require.LessOrEqual(t, time.Since(begin), time.Minute)
		require.LessOrEqual(t, b.Questions(), 10, "rounds are read only as fast as the client takes them")
	})
}

func TestNewHandler_keepsASilentStreamAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		rest.HandlerFor(b, nil).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/job/events/a", nil))
		require.Equal(t, 4, strings.Count(w.Body.String(), ":\n\n"))
		require.Equal(t, 1, strings.Count(w.Body.String(), "event: "))
	})
}

func TestNewHandler_combinesManyChangesIntoOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		w := httptest.NewRecorder()
		go func() {
			defer close(done)
			rest.HandlerFor(b, nil).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/job/events/a", nil))
		}()
		for range 1000 {
			time.Sleep(time.Millisecond)
			b.Round("a", 1)
		}
		time.Sleep(time.Second)
		cancel()
		<-done
		require.Equal(t, 1000, strings.Count(w.Body.String(), "event: round"))
		require.LessOrEqual(t, b.Questions(), 30, "about ten looks, of which a full one asks twice")
	})
}

func TestNewHandler_limitsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		h := rest.HandlerFor(b, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 1000 {
			go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/job/events/a", nil))
		}
		synctest.Wait()
		w := jobstest.Ask(h, "GET", "/job/events/a", "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		cancel()
		synctest.Wait()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Finished})
		require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", "/job/events/a", "").Code)
	})
}

func TestNewHandler_endsAStreamWithItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training})
		l := serveBoard(t, b)("a", "")
		l.requireStatus(report.Training, "1.0")
		b.Fail("a", flcollect.ErrNotRunning)
		require.Equal(t, event{}, l.next())
	})
}
