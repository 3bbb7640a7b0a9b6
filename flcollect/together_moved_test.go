package flcollect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// undelivered returns a site whose first server has a job with a result that the repository
// does not take until back is called, and another server of it.
func undelivered(t *testing.T, lan network) (s *site, first, second *member, n *neighbours, back func()) {
	t.Helper()
	var down atomic.Bool
	down.Store(true)
	n = &neighbours{down: func(call string) error {
		if call == "store" && down.Load() {
			return errDown
		}
		return nil
	}}
	s = newSite(lan, flcollect.Config{Repository: n})
	first = s.add(t, "a")
	require.NoError(t, first.Start(t.Context(), "job", config(1, 1)))
	second = s.add(t, "b")
	second.join(t, trainer{step: 1, examples: 1})
	status := second.untilState(t, "job", report.Finished)
	require.False(t, status.Stored)
	return s, first, second, n, func() { down.Store(false) }
}

func isStored(s flcollect.Status) bool { return s.Stored }

func TestServer_Start_leavesTheDeliveryToItsServerWhenItFails(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		_, first, second, n, back := undelivered(t, lan)
		unknown := config(1, 1)
		unknown.Strategy = "nonsense"
		require.ErrorIs(t, second.Start(t.Context(), "job", unknown), flcollect.ErrNoStrategy)
		back()
		status := first.until(t, "job", "delivered", isStored)
		require.Equal(t, int64(1), status.Run)
		_, ok := n.stored("job")
		require.True(t, ok)
	})
}

// A server that asks for a job, and is killed before it takes it, leaves its request.
func TestServer_Run_deliversWhatAnotherHasAskedForAndNotTaken(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s, first, _, n, back := undelivered(t, lan)
		yield(t, s.documents, "job")
		first.until(t, "job", "left by its server", func(flcollect.Status) bool { return !asked(t, s.documents, "job") })
		back()
		first.until(t, "job", "delivered", isStored)
		_, ok := n.stored("job")
		require.True(t, ok)
	})
}

func TestServer_Start_beginsARunWhileAnotherServerDelivers(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		_, _, second, n, back := undelivered(t, lan)
		require.NoError(t, second.Start(t.Context(), "job", config(2, 1)))
		second.join(t, trainer{step: 1, examples: 1})
		back()
		status := second.until(t, "job", "delivered", isStored)
		require.Equal(t, int64(2), status.Run)
		require.Equal(t, []string{"store job", "store job"}, n.all())
	})
}

// A virtual machine that was suspended goes on with a round while the job is another's.
func TestServer_Run_replacesNoRoundOfTheServerThatHasTheJobNow(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{Lease: time.Hour}) // this one is not lost
		first := s.add(t, "a")
		require.NoError(t, first.Start(t.Context(), "job", config(5, 1)))
		theirs := []byte(`{"number":2,"note":"of the next server"}`)
		moved, once := make(chan string, 1), sync.Once{}
		first.join(t, trainer{step: 1, examples: 1, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
			if status, err := first.Status(ctx, "job"); err != nil || status.Round != 1 {
				return err
			}
			var err error
			once.Do(func() { err = takeJob(ctx, s.documents, theirs, moved) })
			return err
		}})
		key := <-moved
		first.until(t, "job", "lost", func(flcollect.Status) bool { return len(first.Clients("job")) == 0 })
		doc, err := s.documents.Get(t.Context(), key)
		require.NoError(t, err)
		require.JSONEq(t, string(theirs), string(doc.Data))
	})
}

func TestServer_Ready_failsWithoutALease(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		lost := newLine("lost its lease")
		s := newSite(lan, flcollect.Config{Logger: slog.New(slog.NewTextHandler(lost, nil))})
		m := s.add(t, "a")
		require.NoError(t, m.Start(t.Context(), "job", config(2, 2)))
		m.join(t, trainer{step: 1, examples: 1})
		hasClients := func(n int) func(flcollect.Status) bool {
			return func(flcollect.Status) bool { return len(m.Clients("job")) == n }
		}
		m.until(t, "job", "joined", hasClients(1))
		require.NoError(t, m.Ready())
		m.cut.Store(true)
		<-lost.written
		require.Error(t, m.Ready())
		m.cut.Store(false)
		require.Eventually(t, func() bool { return m.Ready() == nil }, patience, time.Millisecond)
		m.until(t, "job", "joined", hasClients(1))
	})
}

func TestServer_Handle_sendsAClientAwayThatCannotBeRelayed(t *testing.T) {
	for name, advertised := range map[string]string{"its own address": "127.0.0.1:8088", "out of reach": "[::1]:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFakeClock(t, func(t *testing.T, lan network) {
				s := newSite(lan, flcollect.Config{Advertise: advertised, Park: time.Second})
				first := s.add(t, "a")
				require.NoError(t, first.Start(t.Context(), "job", config(1, 1)))
				if name == "out of reach" {
					s.config.Advertise = "" // of the next server
				}
				second := s.add(t, "b")
				second.until(t, "job", "shown", func(s flcollect.Status) bool { return s.Needed == 1 })
				var calls atomic.Int32
				client, err := flower.NewClient(flower.ClientConfig{
					Target: "balancer:1", Trainer: trainer{step: 1, examples: 1},
					Dial: func(ctx context.Context, _ string) (net.Conn, error) { // the second server is the first choice
						to := first.address
						if calls.Add(1) == 1 {
							to = second.address
						}
						return s.dial(ctx, to)
					},
				})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				require.NoError(t, client.Run(ctx))
				require.Equal(t, report.Finished, first.untilState(t, "job", report.Finished).State)
			})
		})
	}
}

func TestUpstream_endsBehindARelay(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		krum := config(1, 1)
		krum.Strategy = "Krum"
		s := newSite(lan, flcollect.Config{})
		first, second := s.add(t, "a"), s.add(t, "b")
		for _, c := range []struct {
			id     string
			config jobconfig.Config
			reason string
		}{
			{"krum", krum, `job "krum" with the strategy "Krum" takes no collectors as clients: it needs the update of every client`},
			{"stopped", config(1, 2), `job "stopped" was interrupted`},
		} {
			require.NoError(t, first.Start(t.Context(), c.id, c.config))
			second.until(t, c.id, "shown", func(s flcollect.Status) bool { return s.Needed > 0 })
			edge := newEdge(t, second.world, "edge")
			require.NoError(t, edge.Start(t.Context(), c.id, config(1, 1)))
			if c.id == "stopped" {
				first.until(t, c.id, "joined by the edge", func(s flcollect.Status) bool { return s.Clients == 1 })
				require.NoError(t, second.StopJob(t.Context(), c.id))
			}
			status := edge.untilState(t, c.id, report.Interrupted)
			require.Contains(t, status.Error, "flower: the client cannot take part: "+c.reason)
			require.NotContains(t, status.Error, first.address)
		}
	})
}

// line is a log in which a line is awaited.
type line struct {
	text    string
	written chan struct{}
	once    sync.Once
}

func newLine(text string) *line { return &line{text: text, written: make(chan struct{})} }

func (l *line) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.once.Do(func() { close(l.written) })
	}
	return len(p), nil
}

// takeJob writes what a server writes that takes the job, and then its round 2.
func takeJob(ctx context.Context, documents storage.Documents, round []byte, moved chan<- string) error {
	doc, err := documents.Get(ctx, "job/job")
	if err != nil {
		return err
	}
	var record map[string]any
	if err := json.Unmarshal(doc.Data, &record); err != nil {
		return err
	}
	record["holder"] = "next"
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if _, err := documents.Update(ctx, doc.Key, doc.Revision, data); err != nil {
		return err
	}
	key := fmt.Sprintf("round/%s/%07d", record["token"], 2)
	_, err = documents.Create(ctx, key, round)
	moved <- key
	return err
}

// yield asks the server of a job that has ended to leave what is left to do.
func yield(t *testing.T, documents storage.Documents, id string) {
	t.Helper()
	for {
		doc, entry := readEntry(t, documents, id)
		entry["yield"] = entry["token"]
		data, err := json.Marshal(entry)
		require.NoError(t, err)
		if _, err = documents.Update(t.Context(), doc.Key, doc.Revision, data); !errors.Is(err, storage.ErrConflict) {
			require.NoError(t, err)
			return
		}
	}
}

func asked(t *testing.T, documents storage.Documents, id string) bool {
	t.Helper()
	_, entry := readEntry(t, documents, id)
	return entry["yield"] != nil
}

func readEntry(t *testing.T, documents storage.Documents, id string) (storage.Document, map[string]any) {
	t.Helper()
	doc, err := documents.Get(context.WithoutCancel(t.Context()), fmt.Sprint("active/", id))
	require.NoError(t, err)
	var entry map[string]any
	require.NoError(t, json.Unmarshal(doc.Data, &entry))
	return doc, entry
}
