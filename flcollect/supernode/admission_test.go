package supernode_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
)

// askWhole has a node of Flower 1.15 to 1.18 receive an instruction with a model of so many
// elements, and returns its answer.
func (w *world) askWhole(c *supernodetest.Client, m *supernode.Member, elements int) (record.Message, <-chan fitted) {
	w.t.Helper()
	require.NoError(w.t, c.Heartbeat(w.t.Context(), "Ping"))
	got := make(chan fitted, 1)
	go func() {
		res, err := m.Fit(w.t.Context(), flower.FitIns{Parameters: model(elements)})
		got <- fitted{res, err}
	}()
	message, err := c.AskWhole(w.t.Context())
	require.NoError(w.t, err)
	require.NotNil(w.t, message)
	content, err := addOne(*message)
	require.NoError(w.t, err)
	return message.Reply(1, content), got
}

func TestServer_wholeAnswerThatIsNotAwaited_takesNoMemory(t *testing.T) {
	direct(t, supernode.Config{Uploads: 1 << 20}, func(t *testing.T, w *world) {
		run := w.run(supernode.RunConfig{})
		config := supernodetest.Config{GRPC: true}
		late, node := w.local(config)
		reply, got := w.askWhole(late, w.join(run, node), 1<<18)
		require.NoError(t, late.AnswerWhole(t.Context(), reply))
		(<-got).release(t)

		full, node := w.local(config)
		whole, got := w.askWhole(full, w.join(run, node), 1<<18)
		require.NoError(t, full.AnswerWhole(t.Context(), whole))
		held := <-got
		require.NotZero(t, w.InUse(), "all of it")
		begin := time.Now()
		require.NoError(t, late.AnswerWhole(t.Context(), reply), "it is read and dropped, and waits for nothing")
		require.Zero(t, time.Since(begin))
		held.release(t)
		require.Zero(t, w.InUse())
	})
}

// stalled is a body of which the second half does not come before its deadline.
type stalled struct {
	io.ReadCloser
	http.ResponseWriter
	left  int
	mu    sync.Mutex
	timer *time.Timer
	ended chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.ended
		return 0, os.ErrDeadlineExceeded
	}
	n, err := s.ReadCloser.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

func (s *stalled) SetReadDeadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(time.Until(at), func() { close(s.ended) })
	return nil
}

func TestServer_wholeAnswerThatComesAgain_endsTheEarlierRequest(t *testing.T) {
	direct(t, supernode.Config{}, func(t *testing.T, w *world) {
		var stall sync.Once
		server := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.ContentLength > 1<<19 {
				stall.Do(func() {
					s := &stalled{ReadCloser: r.Body, ResponseWriter: rw, left: 1 << 19, ended: make(chan struct{})}
					r.Body, rw = s, s
				})
			}
			w.ServeHTTP(rw, r)
		})
		c, err := supernodetest.New(supernodetest.Config{GRPC: true, Handler: server})
		require.NoError(t, err)
		require.NoError(t, c.Activate(t.Context()))
		reply, got := w.askWhole(c, w.join(w.run(supernode.RunConfig{}), <-w.joined), 1<<18)
		lost := make(chan error, 1)
		begin := time.Now()
		go func() { lost <- c.AnswerWhole(t.Context(), reply) }()
		synctest.Wait()
		held := w.InUse()
		require.NotZero(t, held)
		require.NoError(t, c.AnswerWhole(t.Context(), reply), "as over a new connection")
		var refused *supernodetest.Refusal
		require.True(t, errors.As(<-lost, &refused))
		require.Contains(t, refused.Detail, "given up")
		require.Zero(t, time.Since(begin), "at once")
		require.Equal(t, held, w.InUse(), "the memory of one answer")
		(<-got).release(t)
		require.Zero(t, w.InUse())
	})
}

func TestMember_instructionThatIsWithdrawn_canStillBeFetched(t *testing.T) {
	direct(t, supernode.Config{}, func(t *testing.T, w *world) {
		c, node := w.local(supernodetest.Config{})
		m := w.join(w.run(supernode.RunConfig{}), node)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := m.Fit(ctx, flower.FitIns{Parameters: model(1 << 20)})
			failed <- err
		}()
		task, err := c.Ask(t.Context())
		require.NoError(t, err)
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		object, err := c.Object(t.Context(), 7, task.Tree.ID)
		require.NoError(t, err)
		require.NotNil(t, object, "Flower 1.20 to 1.23 ends without it")
		time.Sleep(2 * time.Minute)
		require.NoError(t, c.Heartbeat(t.Context(), "SendNodeHeartbeat"))
		<-w.joined
		object, err = c.Object(t.Context(), 7, task.Tree.ID)
		require.NoError(t, err)
		require.Nil(t, object)
	})
}
