package supernode_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
)

// fit has a member train in the background.
func fit(t *testing.T, m *supernode.Member, p flower.Parameters) <-chan fitted {
	got := make(chan fitted, 1)
	ctx := bounded(t)
	go func() {
		res, err := m.Fit(ctx, flower.FitIns{Parameters: p})
		got <- fitted{res, err}
	}()
	return got
}

type fitted struct {
	res *flower.FitRes
	err error
}

// release checks an answer of addOne and frees it.
func (f fitted) release(t *testing.T) {
	t.Helper()
	require.NoError(t, f.err)
	require.Equal(t, []float64{2, 3}, layers(t, f.res.Parameters)[1])
	require.EqualValues(t, 10, f.res.NumExamples)
	f.res.Release()
}

func TestServer_sendsMessagesToRelease118WithTheirContent(t *testing.T) {
	w := start(t, supernode.Config{})
	c := w.client(supernodetest.Config{GRPC: true})
	require.NoError(t, c.Create(bounded(t)))
	node := w.arrival()
	got := fit(t, w.join(w.run(supernode.RunConfig{}), node), model(1000))
	asked := make(chan *record.Message, 1)
	ctx := bounded(t)
	go func() {
		message, err := c.AskWhole(ctx)
		if err != nil {
			message = nil
		}
		asked <- message
	}()
	require.NoError(t, c.Heartbeat(bounded(t), "Ping"), "it shows which form the release has")
	message := <-asked
	require.NotNil(t, message)
	content, err := addOne(*message)
	require.NoError(t, err)
	require.NoError(t, c.AnswerWhole(bounded(t), message.Reply(1, content)))
	answered := <-got
	require.Greater(t, w.InUse(), int64(4000))
	answered.release(t)
	require.Zero(t, w.InUse())
	require.NoError(t, c.AnswerWhole(bounded(t), message.Reply(1, content)), "a late answer is dropped")
	require.Zero(t, w.InUse())

	w.stop()
	again := w.again(supernode.Config{Hold: time.Millisecond})
	var refused *supernodetest.Refusal
	require.Eventually(t, func() bool {
		return errors.As(c.AnswerWhole(bounded(t), message.Reply(1, content)), &refused)
	}, limit, 10*time.Millisecond)
	require.Contains(t, refused.Detail, "is not running", "the release may answer before its heartbeat shows its form")
	adopted := again.arrival()
	require.Equal(t, node.ID(), adopted.ID())
	again.join(again.run(supernode.RunConfig{}), adopted)
	require.NoError(t, c.AnswerWhole(bounded(t), message.Reply(1, content)), "what is not awaited is dropped")
	require.Zero(t, again.InUse())
}

func TestServer_sendsTasksToRelease114WithoutASignature(t *testing.T) {
	w := start(t, supernode.Config{})
	c := w.client(supernodetest.Config{GRPC: true, Unsigned: true})
	require.NoError(t, c.Create(bounded(t)))
	node := w.arrival()
	require.Nil(t, node.PublicKey())
	run := w.run(supernode.RunConfig{})
	got := fit(t, w.join(run, node), model(1000))
	require.NoError(t, c.Heartbeat(bounded(t), "Ping"))
	message, err := c.AskTask(bounded(t))
	require.NoError(t, err)
	fab, err := c.FAB(bounded(t), 0, run.App().Hash)
	require.NoError(t, err, "the release does not name the run")
	require.Equal(t, w.fab, fab)
	content, err := addOne(*message)
	require.NoError(t, err)
	require.NoError(t, c.AnswerTask(bounded(t), message.Reply(1, content)))
	(<-got).release(t)
	require.Zero(t, w.InUse())

	w.stop()
	again := w.again(supernode.Config{Hold: time.Millisecond})
	c.Close() // or the next call may take the connection that has ended
	message, err = c.AskTask(bounded(t))
	require.NoError(t, err)
	require.Nil(t, message)
	require.Equal(t, node.ID(), again.arrival().ID(), "it goes on after a restart of the server")
	_, err = c.AskWhole(bounded(t))
	require.Contains(t, refusal(t, err).Detail, "is not signed", "a call of later releases")
}

func TestConfig_Authorize_isAskedBeforeALargeBodyIsRead(t *testing.T) {
	w := start(t, supernode.Config{Authorize: func(_ context.Context, caller supernode.Caller) (string, error) {
		return "", errors.New("not you")
	}})
	body := flower.Blob{make([]byte, 1<<20)} // no message
	for _, unsigned := range []bool{false, true} {
		c := w.client(supernodetest.Config{GRPC: true, Unsigned: unsigned})
		method := "PushMessages"
		if unsigned {
			method = "PushTaskRes"
		}
		_, err := c.Call(bounded(t), method, body)
		require.NotContains(t, refusal(t, err).Detail, "malformed", method)
		require.Contains(t, []int{7, 16}, refusal(t, err).Status, method)
	}
}

func TestServer_sendsObjectsToRelease120OnceItsHeartbeatShowsIt(t *testing.T) {
	w := start(t, supernode.Config{})
	c := w.client(supernodetest.Config{GRPC: true})
	require.NoError(t, c.Create(bounded(t)))
	node := w.arrival()
	got := fit(t, w.join(w.run(supernode.RunConfig{}), node), model(1000))
	w.works(c, addOne)
	require.NoError(t, c.Heartbeat(bounded(t), "SendNodeHeartbeat"))
	(<-got).release(t)
	require.Zero(t, w.InUse())
}

// direct runs a test with a server that is called without a network, on a fake clock.
func direct(t *testing.T, config supernode.Config, test func(t *testing.T, w *world)) {
	dir := t.TempDir()
	fab := addApp(t, dir, "acme", "vision", "1.0")
	synctest.Test(t, func(t *testing.T) {
		var err error
		config.Apps, err = supernode.OpenApps(t.Context(), dir)
		require.NoError(t, err)
		w := &world{t: t, fab: fab, joined: make(chan *supernode.Node, 10)}
		config.Handle = func(ctx context.Context, node *supernode.Node) error {
			w.joined <- node
			<-ctx.Done()
			return nil
		}
		w.Server, err = supernode.New(config)
		require.NoError(t, err)
		defer w.Stop()
		test(t, w)
	})
}

// local returns a client that calls the server without a network, and its node.
func (w *world) local(config supernodetest.Config) (*supernodetest.Client, *supernode.Node) {
	w.t.Helper()
	c := w.client(config)
	require.NoError(w.t, c.Activate(w.t.Context()))
	return c, <-w.joined
}

func TestNode_withoutHeartbeats_isGone(t *testing.T) {
	direct(t, supernode.Config{}, func(t *testing.T, w *world) {
		c, node := w.local(supernodetest.Config{})
		run := w.run(supernode.RunConfig{})
		m := w.join(run, node)
		for range 5 {
			time.Sleep(50 * time.Second)
			require.NoError(t, c.Heartbeat(t.Context(), "SendNodeHeartbeat"))
		}
		failed := make(chan error, 1)
		go func() {
			_, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(3)})
			failed <- err
		}()
		task, err := c.Ask(t.Context())
		require.NoError(t, err)
		require.NotNil(t, task)
		time.Sleep(69 * time.Second)
		require.NoError(t, node.Err(), "twice the interval, and the grace")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.ErrorIs(t, node.Err(), flower.ErrGone)
		require.ErrorContains(t, <-failed, "no heartbeat for 1m10s")
		<-m.Done()
		require.Empty(t, w.Nodes())

		require.NoError(t, c.Heartbeat(t.Context(), "SendNodeHeartbeat"), "it comes back")
		back := <-w.joined
		require.NotSame(t, node, back)
		require.Equal(t, node.ID(), back.ID())
		w.join(run, back)
	})
}

func TestNode_pull_waitsForAMessage(t *testing.T) {
	direct(t, supernode.Config{}, func(t *testing.T, w *world) {
		c, node := w.local(supernodetest.Config{})
		m := w.join(w.run(supernode.RunConfig{}), node)
		begin := time.Now()
		task, err := c.Ask(t.Context())
		require.NoError(t, err)
		require.Nil(t, task)
		require.Equal(t, supernode.DefaultHold, time.Since(begin))
		asked := make(chan *supernodetest.Task, 2)
		ask := func() {
			task, err := c.Ask(t.Context())
			if err != nil {
				task = nil
			}
			asked <- task
		}
		go ask()
		synctest.Wait()
		go ask() // as after a lost connection
		synctest.Wait()
		require.Nil(t, <-asked, "the first request is given up")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		begin = time.Now()
		go func() {
			_, err := m.Fit(ctx, flower.FitIns{Parameters: model(3)})
			failed <- err
		}()
		require.NotNil(t, <-asked)
		require.Zero(t, time.Since(begin), "at once")
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
	})
}

func TestServer_answerThatStalls_givesItsMemoryBack(t *testing.T) {
	direct(t, supernode.Config{}, func(t *testing.T, w *world) {
		c, node := w.local(supernodetest.Config{})
		m := w.join(w.run(supernode.RunConfig{}), node)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make(chan fitted, 1)
		go func() {
			res, err := m.Fit(ctx, flower.FitIns{Parameters: model(1 << 20)})
			got <- fitted{res, err}
		}()
		task, err := c.Ask(ctx)
		require.NoError(t, err)
		message, err := c.Fetch(ctx, task)
		require.NoError(t, err)
		content, err := addOne(message)
		require.NoError(t, err)
		reply := message.Reply(1, content)
		tree, objects, err := record.Deflate(reply)
		require.NoError(t, err)
		_, session, err := c.Announce(ctx, reply, tree)
		require.NoError(t, err)
		stored, err := c.Send(ctx, 7, session, objects[0].ID, objects[0].Content)
		require.NoError(t, err)
		require.True(t, stored)
		require.NotZero(t, w.InUse())
		time.Sleep(59 * time.Second)
		require.NotZero(t, w.InUse())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Zero(t, w.InUse())
		stored, err = c.Send(ctx, 7, session, objects[1].ID, objects[1].Content)
		require.NoError(t, err)
		require.False(t, stored)
		require.NoError(t, c.Heartbeat(ctx, "SendNodeHeartbeat"))
		_, err = c.Answer(ctx, reply)
		require.NoError(t, err, "it may begin again")
		(<-got).release(t)
		stored, err = c.Send(ctx, 7, session, objects[1].ID, objects[1].Content)
		require.NoError(t, err)
		require.True(t, stored, "a repetition of what came")
		require.Zero(t, w.InUse())
	})
}

func TestConfig_Uploads_holdsAnswersBackUntilThereIsMemory(t *testing.T) {
	direct(t, supernode.Config{Uploads: 5 << 20}, func(t *testing.T, w *world) {
		run := w.run(supernode.RunConfig{})
		type end struct {
			c     *supernodetest.Client
			reply record.Message
			got   chan fitted
		}
		ends := make([]end, 2)
		for i := range ends {
			c, node := w.local(supernodetest.Config{})
			m := w.join(run, node)
			got := make(chan fitted, 1)
			go func() {
				res, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(1 << 20)})
				got <- fitted{res, err}
			}()
			task, err := c.Ask(t.Context())
			require.NoError(t, err)
			message, err := c.Fetch(t.Context(), task)
			require.NoError(t, err)
			content, err := addOne(message)
			require.NoError(t, err)
			ends[i] = end{c, message.Reply(1, content), got}
		}
		_, err := ends[0].c.Answer(t.Context(), ends[0].reply)
		require.NoError(t, err)
		first := <-ends[0].got
		begin := time.Now()
		_, err = ends[1].c.Answer(t.Context(), ends[1].reply)
		require.Equal(t, 503, refusal(t, err).Status, "the SuperNode tries again")
		require.Equal(t, 20*time.Second, time.Since(begin))
		retried := make(chan error, 1)
		go func() {
			_, err := ends[1].c.Answer(t.Context(), ends[1].reply)
			retried <- err
		}()
		synctest.Wait()
		first.release(t)
		require.NoError(t, <-retried)
		(<-ends[1].got).release(t)
		require.Zero(t, w.InUse())
	})
}

func TestConfig_MaxMessage_failsTheInstruction(t *testing.T) {
	direct(t, supernode.Config{MaxMessage: 1 << 20}, func(t *testing.T, w *world) {
		c, node := w.local(supernodetest.Config{})
		m := w.join(w.run(supernode.RunConfig{}), node)
		got := make(chan fitted, 1)
		go func() {
			res, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(1 << 20)})
			got <- fitted{res, err}
		}()
		task, err := c.Ask(t.Context())
		require.NoError(t, err)
		message, err := c.Fetch(t.Context(), task)
		require.NoError(t, err)
		content, err := addOne(message)
		require.NoError(t, err)
		_, err = c.Answer(t.Context(), message.Reply(1, content))
		require.Equal(t, 413, refusal(t, err).Status)
		require.ErrorIs(t, (<-got).err, flower.ErrTooLarge)
		require.Zero(t, w.InUse())
	})
}
