package supernode_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
)

// refusal returns the refusal that an error is.
func refusal(t *testing.T, err error) *supernodetest.Refusal {
	t.Helper()
	var refused *supernodetest.Refusal
	require.ErrorAs(t, err, &refused)
	return refused
}

// status returns the HTTP status or the gRPC code of a refusal.
func status(grpc bool, overHTTP, overGRPC int) int {
	if grpc {
		return overGRPC
	}
	return overHTTP
}

func newKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

func TestServer_restart_nodesGoOnWithoutARestartOfTheirs(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		c, node := w.node(supernodetest.Config{GRPC: grpc, Release: "1.30.0"})
		w.join(w.run(supernode.RunConfig{}), node)
		w.stop()
		<-node.Done()
		require.ErrorIs(t, node.Err(), flower.ErrStopped)

		again := w.again(supernode.Config{Hold: time.Millisecond})
		// A connection that the client kept may have ended with the server: SuperNodes ask again.
		require.Eventually(t, func() bool {
			task, err := c.Ask(bounded(t))
			return err == nil && task == nil
		}, limit, 10*time.Millisecond)
		adopted := again.arrival()
		require.Equal(t, node.ID(), adopted.ID())
		m := again.join(again.run(supernode.RunConfig{}), adopted)
		again.works(c, addOne)
		res, err := m.Fit(bounded(t), flower.FitIns{Parameters: model(4)})
		require.NoError(t, err)
		res.Release()
		require.NoError(t, c.Heartbeat(bounded(t), "SendNodeHeartbeat"))
	})
}

func TestNode_restartOfItsProcess_isSentItsMessageAgain(t *testing.T) {
	w := start(t, supernode.Config{})
	key := newKey(t, elliptic.P256())
	c, node := w.node(supernodetest.Config{Key: key})
	m := w.join(w.run(supernode.RunConfig{}), node)
	got := make(chan error, 1)
	go func() {
		res, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(3)})
		if err == nil {
			res.Release()
		}
		got <- err
	}()
	first, err := c.Ask(bounded(t))
	require.NoError(t, err)
	_, err = c.Fetch(bounded(t), first)
	require.NoError(t, err)

	restarted := w.client(supernodetest.Config{Key: key})
	require.NoError(t, restarted.Activate(bounded(t)))
	require.Equal(t, c.ID(), restarted.ID())
	second, err := restarted.Ask(bounded(t))
	require.NoError(t, err)
	require.Equal(t, first.Tree.ID, second.Tree.ID, "the same message")
	message, err := restarted.Fetch(bounded(t), second)
	require.NoError(t, err)
	content, err := addOne(message)
	require.NoError(t, err)
	_, err = restarted.Answer(bounded(t), message.Reply(2, content))
	require.NoError(t, err)
	require.NoError(t, <-got)
	require.NoError(t, node.Err(), "it is the same node")
}

func TestNode_thatLosesAMessageAgainAndAgain_failsIt(t *testing.T) {
	w := start(t, supernode.Config{Hold: time.Millisecond})
	c, node := w.node(supernodetest.Config{})
	m := w.join(w.run(supernode.RunConfig{}), node)
	failed := make(chan error, 1)
	go func() {
		_, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(3)})
		failed <- err
	}()
	given := 0
	require.Eventually(t, func() bool {
		task, err := c.Ask(bounded(t))
		require.NoError(t, err)
		if task == nil {
			return given > 0
		}
		given++
		_, err = c.Fetch(bounded(t), task)
		require.NoError(t, err)
		return false
	}, limit, time.Millisecond)
	require.Equal(t, 3, given)
	err := <-failed
	require.ErrorIs(t, err, supernode.ErrLost)
	require.ErrorContains(t, err, "3 times without an answer")
}

func TestNode_Done_isClosedByADeactivation(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		c, node := w.node(supernodetest.Config{GRPC: grpc})
		m := w.join(w.run(supernode.RunConfig{}), node)
		failed := make(chan error, 1)
		go func() {
			_, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(3)})
			failed <- err
		}()
		_, err := c.Ask(bounded(t))
		require.NoError(t, err)
		require.NoError(t, c.Deactivate(bounded(t)))
		require.ErrorIs(t, <-failed, flower.ErrGone)
		<-m.Done()
		require.ErrorContains(t, m.Err(), "it was stopped")
		require.Empty(t, w.Nodes())
		require.NoError(t, c.Deactivate(bounded(t)), "a second time")
		_, err = w.run(supernode.RunConfig{ID: 8}).Join(node)
		require.ErrorIs(t, err, flower.ErrGone)
	})
}

func TestConfig_Authorize_seesTheKeyAndRefusesWithASentence(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		friend, other := newKey(t, elliptic.P384()), newKey(t, elliptic.P384())
		revoked := false
		w := start(t, supernode.Config{Authorize: func(_ context.Context, caller supernode.Caller) (string, error) {
			host, _, err := net.SplitHostPort(caller.Address)
			if err != nil || host != "127.0.0.1" || caller.TLS != nil {
				return "", errors.New("not here")
			}
			if !friend.PublicKey.Equal(caller.PublicKey) || revoked {
				return "", errors.New("The key of this SuperNode is not known.")
			}
			return "hospital-7", nil
		}})
		c, node := w.node(supernodetest.Config{GRPC: grpc, Key: friend})
		require.Equal(t, "hospital-7", node.Name())
		require.True(t, strings.HasPrefix(node.String(), "hospital-7@supernode:"))
		require.Equal(t, "hospital-7", node.Peer().Name)

		if grpc {
			older := w.client(supernodetest.Config{GRPC: true, Key: friend, Release: "1.15.0"}) // its headers have other names
			require.NoError(t, older.Create(bounded(t)))
			require.Equal(t, node.ID(), older.ID())
		}
		unknown := w.client(supernodetest.Config{GRPC: grpc, Key: other})
		for _, call := range []func(context.Context) error{unknown.Register, unknown.Activate} {
			refused := refusal(t, call(bounded(t)))
			require.Equal(t, status(grpc, http.StatusPreconditionFailed, 9), refused.Status, "a status with which the SuperNode prints the sentence")
			require.Equal(t, "The key of this SuperNode is not known.", refused.Detail)
		}
		require.Len(t, w.Nodes(), 1)
		require.NoError(t, c.Heartbeat(bounded(t), "SendNodeHeartbeat"))
		revoked = true
		refused := refusal(t, c.Heartbeat(bounded(t), "SendNodeHeartbeat"))
		require.Equal(t, status(grpc, http.StatusUnauthorized, 16), refused.Status)
		<-node.Done()
	})
}

func TestServer_signature_isVerified(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		direct(t, supernode.Config{}, func(t *testing.T, w *world) {
			c, _ := w.local(supernodetest.Config{GRPC: grpc})
			ended := status(grpc, http.StatusUnauthorized, 16)
			for problem, config := range map[string]supernodetest.Config{
				"differ by 5m6s": {Clock: func() time.Time { return time.Now().Add(-306 * time.Second) }},
				"differ by -6s":  {Clock: func() time.Time { return time.Now().Add(6 * time.Second) }},
				"is not signed":  {Unsigned: true},
				"signs as node":  {Key: newKey(t, elliptic.P384())},
			} {
				config.GRPC = grpc
				other := w.client(config)
				_, err := other.Call(bounded(t), "PullMessages", pullRequest(c.ID()))
				refused := refusal(t, err)
				require.Equal(t, ended, refused.Status, problem)
				require.Contains(t, refused.Detail, problem)
			}
			late := w.client(supernodetest.Config{GRPC: grpc, Clock: func() time.Time { return time.Now().Add(-290 * time.Second) }})
			require.NoError(t, late.Register(bounded(t)), "within the tolerance")
		})
	})
}

// pullRequest returns a request for a message of a node.
func pullRequest(id uint64) flower.Blob {
	var w, node wire.Writer
	node.Uint(1, id)
	w.Bytes(1, node.Chunks())
	return w.Chunks()
}

func TestServer_activation_refusesAnOddInterval(t *testing.T) {
	w := start(t, supernode.Config{})
	c := w.client(supernodetest.Config{Interval: 9 * time.Second})
	require.NoError(t, c.Register(bounded(t)))
	refused := refusal(t, c.Activate(bounded(t)))
	require.Equal(t, 2003, refused.Code)
	require.Contains(t, refused.Detail, "expected 10 to 1800 s")
}

func TestConfig_MaxNodes_refusesWithASentence(t *testing.T) {
	w := start(t, supernode.Config{MaxNodes: 1})
	w.node(supernodetest.Config{})
	c := w.client(supernodetest.Config{})
	require.NoError(t, c.Register(bounded(t)))
	require.Contains(t, refusal(t, c.Activate(bounded(t))).Detail, "has 1 SuperNodes, no more are accepted")
}

func TestConfig_Handle_thatFindsANodeUnfitEndsIt(t *testing.T) {
	w := start(t, supernode.Config{Hold: time.Millisecond, Handle: func(_ context.Context, node *supernode.Node) error {
		return errors.Join(flower.ErrUnfit, errors.New("no job is for it"))
	}})
	c := w.client(supernodetest.Config{})
	require.NoError(t, c.Register(bounded(t)))
	require.NoError(t, c.Activate(bounded(t)))
	require.Eventually(t, func() bool {
		_, err := c.Ask(bounded(t))
		return err != nil && refusal(t, err).Status == http.StatusUnauthorized
	}, limit, time.Millisecond)
}

func TestServer_getRunAndFab_answerMembersOnly(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		c, node := w.node(supernodetest.Config{GRPC: grpc})
		run := w.run(supernode.RunConfig{ID: 12, Series: 99, Config: flower.Config{"step": 2.0, "name": "x", "on": true, "n": int64(-3)}})
		gone := status(grpc, http.StatusForbidden, 7)
		_, err := c.Description(bounded(t), 12)
		require.Equal(t, gone, refusal(t, err).Status, "the node is not in the run")
		w.join(run, node)
		got, err := c.Description(bounded(t), 12)
		require.NoError(t, err)
		require.Equal(t, supernodetest.Description{
			ID: 12, App: "acme/vision", Version: "1.0", Hash: run.App().Hash, Series: 99, Status: "running",
			Config: flower.Config{"step": 2.0, "name": "x", "on": true, "n": int64(-3)},
		}, got)
		fab, err := c.FAB(bounded(t), 12, got.Hash)
		require.NoError(t, err)
		require.Equal(t, w.fab, fab)
		_, err = c.FAB(bounded(t), 12, strings.Repeat("0", 64))
		require.Equal(t, status(grpc, http.StatusNotFound, 5), refusal(t, err).Status)
		_, err = c.Description(bounded(t), 13)
		require.Equal(t, gone, refusal(t, err).Status)
		run.Close()
		_, err = c.FAB(bounded(t), 12, got.Hash)
		require.Equal(t, gone, refusal(t, err).Status)
	})
}

func TestServer_answer_isCheckedAndStoredOnce(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		w := start(t, supernode.Config{})
		c, node := w.node(supernodetest.Config{GRPC: grpc})
		other, _ := w.node(supernodetest.Config{GRPC: grpc})
		m := w.join(w.run(supernode.RunConfig{}), node)
		answered := make(chan *flower.FitRes, 1)
		go func() {
			res, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(1000)})
			if err != nil {
				res = nil
			}
			answered <- res
		}()
		task, err := c.Ask(bounded(t))
		require.NoError(t, err)
		got, err := c.Fetch(bounded(t), task)
		require.NoError(t, err)
		_, err = other.Object(bounded(t), 7, task.Tree.ID)
		require.NoError(t, err)
		content, err := other.Object(bounded(t), 7, task.Tree.ID)
		require.NoError(t, err)
		require.Nil(t, content, "another node's message is not there")

		records, err := addOne(got)
		require.NoError(t, err)
		reply := got.Reply(1, records)
		tree, objects, err := record.Deflate(reply)
		require.NoError(t, err)
		missing, session, err := c.Announce(bounded(t), reply, tree)
		require.NoError(t, err)
		require.Len(t, missing, len(objects))
		first := objects[0]
		wrong := flower.Blob{[]byte("other content")}
		_, err = c.Send(bounded(t), 7, session, first.ID, wrong)
		require.Equal(t, status(grpc, http.StatusBadRequest, 3), refusal(t, err).Status)
		stored, err := c.Send(bounded(t), 7, session, record.ID(wrong), wrong)
		require.NoError(t, err)
		require.False(t, stored, "not part of the answer")
		for range 2 {
			stored, err = c.Send(bounded(t), 7, session, first.ID, first.Content)
			require.NoError(t, err)
			require.True(t, stored, "twice is as good as once")
		}
		again, _, err := c.Announce(bounded(t), reply, tree)
		require.NoError(t, err)
		require.Len(t, again, len(objects)-1, "an answer goes on where it was")
		_, err = c.Answer(bounded(t), reply)
		require.NoError(t, err)
		res := <-answered
		require.NotNil(t, res)
		require.Equal(t, []float64{2, 3}, layers(t, res.Parameters)[1])
		pushed, err := c.Answer(bounded(t), reply)
		require.NoError(t, err)
		require.Zero(t, pushed, "a replayed answer is dropped")
		res.Release()
		require.Zero(t, w.InUse())

		forged := reply
		forged.Metadata.Source = other.ID()
		_, _, err = c.Announce(bounded(t), forged, tree)
		require.Equal(t, status(grpc, http.StatusUnauthorized, 16), refusal(t, err).Status)
	})
}

func TestServer_answerThatRepeatsTheModel_isNotTransferred(t *testing.T) {
	w := start(t, supernode.Config{})
	c, node := w.node(supernodetest.Config{})
	m := w.join(w.run(supernode.RunConfig{}), node)
	answered := make(chan *flower.FitRes, 1)
	go func() {
		res, err := m.Fit(t.Context(), flower.FitIns{Parameters: model(1000)})
		if err != nil {
			res = nil
		}
		answered <- res
	}()
	task, err := c.Ask(bounded(t))
	require.NoError(t, err)
	got, err := c.Fetch(bounded(t), task)
	require.NoError(t, err)
	arrays, _ := got.Content.Arrays("arrays")
	pushed, err := c.Answer(bounded(t), got.Reply(1, record.Dict{
		{Name: "arrays", Value: arrays}, {Name: "metrics", Value: record.Metrics{{Name: "num-examples", Value: int64(1)}}},
	}))
	require.NoError(t, err)
	require.Equal(t, 3, pushed, "message, Dict and metrics")
	res := <-answered
	require.NotNil(t, res)
	require.Equal(t, []float64{1, 2}, layers(t, res.Parameters)[1])
	res.Release()
}

func TestNodeID_isAFunctionOfTheKey(t *testing.T) {
	key := newKey(t, elliptic.P256())
	id, err := supernode.NodeID(&key.PublicKey)
	require.NoError(t, err)
	again, err := supernode.NodeID(&key.PublicKey)
	require.NoError(t, err)
	require.Equal(t, id, again)
	other, err := supernode.NodeID(&newKey(t, elliptic.P256()).PublicKey)
	require.NoError(t, err)
	require.NotEqual(t, id, other)
}
