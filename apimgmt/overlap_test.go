package apimgmt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

// slowReader is documents of which one listing, once armed, ends only when it is
// let go.
type slowReader struct {
	storage.Documents

	mu               sync.Mutex
	armed            bool
	reached, release chan struct{}
}

func (d *slowReader) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	page, err := d.Documents.List(ctx, prefix, after, limit)
	d.mu.Lock()
	slow := d.armed
	d.armed = false
	d.mu.Unlock()
	if slow {
		close(d.reached)
		<-d.release
	}
	return page, err
}

// watchedGateway calls a function when it is asked for its plugins the first time
// after it was asked for what it serves: while a publisher puts together what it is
// going to serve.
type watchedGateway struct {
	apimgmt.Gateway
	arranging func()

	mu    sync.Mutex
	asked bool
}

func (g *watchedGateway) Config(ctx context.Context) (entity.Config, error) {
	g.mu.Lock()
	g.asked = true
	g.mu.Unlock()
	return g.Gateway.Config(ctx)
}

func (g *watchedGateway) Kinds(ctx context.Context) ([]string, error) {
	g.mu.Lock()
	now := g.asked
	g.asked = false
	g.mu.Unlock()
	if now {
		g.arranging()
	}
	return g.Gateway.Kinds(ctx)
}

func TestPublisher_readersDoNotDisturbAPublish(t *testing.T) {
	s := newStage()
	writer := s.open(t, nil)
	_, err := writer.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/one"))})
	require.NoError(t, err)
	_, err = writer.SetState(t.Context(), "a", "1", apimgmt.Transition{State: apimgmt.Deprecated})
	require.NoError(t, err)

	docs := &slowReader{Documents: s.docs, armed: true, reached: make(chan struct{}), release: make(chan struct{})}
	read := make(chan error)
	disturbed := false
	gateway := &watchedGateway{Gateway: s.gateway, arranging: func() {
		disturbed = true
		close(docs.release)
		require.NoError(t, <-read)
	}}
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: docs, Blobs: s.blobs, Gateway: gateway, GatewayURL: "http://gateway.example"})
	require.NoError(t, err)
	go func() {
		_, _, err := p.List(t.Context(), apimgmt.Query{})
		read <- err
	}()
	<-docs.reached
	// The deprecated version comes first, and the gateway is asked how to say so.
	_, err = p.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("2", "/two"))})
	require.NoError(t, err)
	require.True(t, disturbed)
	s.state(t, p)
}

// slowBlobs are blobs of which the first opened is looked for only after a function
// has returned.
type slowBlobs struct {
	storage.Blobs
	once  sync.Once
	first func()
}

func (b *slowBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	b.once.Do(b.first)
	return b.Blobs.Open(ctx, key)
}

func TestPublisher_acceptsAChangeCommittedByAnotherProcess(t *testing.T) {
	s := newStage()
	slow := &slowGateway{Gateway: s.gateway, reached: make(chan struct{}), release: make(chan struct{})}
	first, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: slow, GatewayURL: "http://gateway.example"})
	require.NoError(t, err)
	result := make(chan error)
	go func() {
		_, err := first.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/old"))})
		result <- err
	}()
	<-slow.reached
	// The second has lost patience, and is about to read what the first is publishing.
	second, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Gateway: s.gateway,
		GatewayURL: "http://gateway.example", Patience: time.Nanosecond,
		Blobs: &slowBlobs{Blobs: s.blobs, first: func() {
			close(slow.release)
			require.NoError(t, <-result)
			require.NoError(t, first.Delete(t.Context(), "a", "", apimgmt.Condition{}))
		}}})
	require.NoError(t, err)
	_, err = second.Publish(t.Context(), apimgmt.Upload{Enabler: "b", Definition: []byte(apitest.File("1", "/new"))})
	require.NoError(t, err)
	require.Equal(t, "b 1 published: /new ()\n", s.state(t, second))
}

func TestPublisher_isSafeForConcurrentUse(t *testing.T) {
	s := newStage()
	ctx, stop := context.WithCancel(t.Context())
	var beside, writing sync.WaitGroup
	faults := make(chan error, 100)
	note := func(err error) {
		if err == nil {
			return
		}
		select {
		case faults <- err:
		default:
		}
	}
	for process := range 2 {
		p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: s.gateway, GatewayURL: "http://gateway.example",
			Interval: time.Millisecond, Reconcile: time.Millisecond})
		require.NoError(t, err)
		beside.Go(func() { note(p.Run(ctx)) })
		for range 2 {
			beside.Go(func() {
				for ctx.Err() == nil {
					list, _, err := p.List(t.Context(), apimgmt.Query{})
					note(err)
					for _, r := range list {
						if _, err := p.Get(t.Context(), r.Enabler); !errors.Is(err, apimgmt.ErrNotFound) {
							note(err)
						}
					}
				}
			})
		}
		for writer := range 4 {
			name := fmt.Sprintf("p%d-w%d", process, writer)
			writing.Go(func() {
				for round := range 4 {
					definition := []byte(apitest.File("1", fmt.Sprintf("/%s/%d", name, round)))
					_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: definition})
					note(err)
					_, err = p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(apitest.File("2", "/"+name+"/more"))})
					note(err)
					_, err = p.SetState(t.Context(), name, "2", apimgmt.Transition{State: apimgmt.Deprecated})
					note(err)
					note(p.DeleteVersion(t.Context(), name, "2", "", apimgmt.Condition{}))
					if round%2 == 0 {
						note(p.Delete(t.Context(), name, "", apimgmt.Condition{}))
					}
				}
			})
		}
	}
	writing.Wait()
	stop()
	beside.Wait()
	close(faults)
	for err := range faults {
		t.Error(err)
	}
	p := s.open(t, nil)
	list, _, err := p.List(t.Context(), apimgmt.Query{})
	require.NoError(t, err)
	require.Len(t, list, 8)
	s.state(t, p)
}
