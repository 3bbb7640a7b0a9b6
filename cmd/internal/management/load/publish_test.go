package publish_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	steady     = 3    // APIs that stay
	callers    = 4    // clients that call them
	publishers = 4    // clients that publish others
	window     = 5    // APIs that each of those has at a time
	published  = 1000 // APIs that they publish, change and delete
	part       = 100  // after which memory is measured the first time
	// growth is how much more memory may be in use after the last than after the first
	// part, in bytes: less than 1.2 KB for each of the 900 APIs between.
	growth = 1 << 20
	// remembered is how much more of it may be what plugins remember of a token, on
	// every route that is secured.
	remembered = 512 << 10
)

func TestRun_publishesAThousandAPIsWithoutAFailedRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("publishing under load takes longer than -short allows")
	}
	if !peertest.Required() {
		t.Skipf("publishing under load takes a minute or more, so it runs with %s=1 alone", peertest.RequirePeers)
	}
	before := runtime.NumGoroutine()
	var arrived atomic.Int64 // calls of APIs that stay
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/steady") {
			arrived.Add(1)
		}
		body, _ := io.ReadAll(r.Body) // one that is cut short makes an answer that is wrong
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body))
	}))
	defer service.Close()
	manager, stop := start(t)
	require.NoError(t, manager.signIn())
	for i := range steady {
		base := fmt.Sprintf("/steady%d", i)
		_, err := manager.change(http.MethodPost, "?description=Steady&enabler="+base[1:],
			definition(service.URL, manager.portal+realm, "1", base+"/plain", base+"/items/{id}", base+"/secured"), http.StatusOK)
		require.NoError(t, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	clients, failed := make([]*caller, callers), make(chan error, callers)
	for i := range clients {
		clients[i] = &caller{number: i, manager: manager}
		calling.Go(func() {
			if err := clients[i].run(ctx); err != nil {
				failed <- err
			}
		})
	}
	begun := time.Now()
	fleet := make([]*publisher, publishers)
	for i := range fleet {
		fleet[i] = &publisher{number: i, manager: manager, upstream: service.URL}
	}
	var first, last uint64
	var tokens int // that came after the first part
	for done := 0; done < published; done += part {
		require.NoError(t, manager.signIn())
		together(t, fleet, func(p *publisher) error { return p.publish(part / publishers) })
		last = inUse()
		if done == 0 {
			first, tokens = last, -manager.tokens
		}
		t.Logf("%4d published after %s: %d KiB in use, %d goroutines", done+part,
			time.Since(begun).Round(time.Millisecond), last>>10, runtime.NumGoroutine())
	}
	tokens += manager.tokens
	together(t, fleet, func(p *publisher) error { return p.drain() })
	cancel()
	calling.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}

	var calls, forwarded int64
	for _, c := range clients {
		calls, forwarded = calls+c.calls.Load(), forwarded+c.forwarded.Load()
		require.Zero(t, c.lost.Load(), "caller %d has lost a connection", c.number)
	}
	for _, p := range fleet {
		require.Equal(t, published/publishers, p.made)
		require.Equal(t, p.made, p.changed)
		require.Equal(t, p.made, p.deleted)
	}
	t.Logf("%d calls beside %d changes in %s", calls, 3*published, time.Since(begun).Round(time.Millisecond))
	require.Greater(t, calls, int64(published), "the callers were heard")
	require.Equal(t, forwarded, arrived.Load(), "each call arrives once")
	require.LessOrEqual(t, last, first+growth+uint64(tokens)*remembered, "memory in use grows with what was published")

	list, err := manager.change(http.MethodGet, "?limit=500", "", http.StatusOK)
	require.NoError(t, err)
	var records []struct{ Enabler string }
	require.NoError(t, json.Unmarshal([]byte(list), &records))
	require.Len(t, records, steady)
	require.NoError(t, stop())
	service.Close()
	// Eventually looks from a goroutine of its own.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, time.Minute,
		10*time.Millisecond, "goroutines are left")
}

// together has everyone do the same at the same time.
func together(t *testing.T, fleet []*publisher, do func(*publisher) error) {
	t.Helper()
	var wait sync.WaitGroup
	errs := make([]error, len(fleet))
	for i, p := range fleet {
		wait.Go(func() { errs[i] = do(p) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// inUse is how much of the heap is in use after a collection, in bytes: the least of
// several, since calls are under way meanwhile.
func inUse() uint64 {
	var least uint64
	for i := range 5 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if i == 0 || m.HeapAlloc < least {
			least = m.HeapAlloc
		}
	}
	return least
}

// publisher leads APIs through their lives, with some of them there at a time.
type publisher struct {
	number   int
	manager  *apiManager
	upstream string

	made, changed, deleted int
}

// publish publishes so many more. Older ones are changed, and deleted, as newer ones
// come.
func (p *publisher) publish(count int) error {
	for range count {
		if err := p.make(); err != nil {
			return err
		}
		if p.made-p.changed > window/2 {
			if err := p.replace(); err != nil {
				return err
			}
		}
		if p.made-p.deleted > window {
			if err := p.remove(); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain deletes what is left, having changed all of it.
func (p *publisher) drain() error {
	for p.changed < p.made {
		if err := p.replace(); err != nil {
			return err
		}
	}
	for p.deleted < p.made {
		if err := p.remove(); err != nil {
			return err
		}
	}
	return nil
}

func (p *publisher) name(i int) string { return fmt.Sprintf("moving%d-%d", p.number, i) }

func (p *publisher) make() error {
	name := p.name(p.made)
	_, err := p.manager.change(http.MethodPost, "?description=Moving&enabler="+name,
		definition(p.upstream, "", "1", "/"+name+"/first", "/"+name+"/both"), http.StatusOK)
	if err != nil {
		return err
	}
	p.made++
	return p.manager.served("/"+name+"/first", http.StatusOK)
}

func (p *publisher) replace() error {
	name := p.name(p.changed)
	if _, err := p.manager.change(http.MethodPut, name, definition(p.upstream, "", "2", "/"+name+"/both",
		"/"+name+"/second"), http.StatusOK); err != nil {
		return err
	}
	p.changed++
	for path, want := range map[string]int{"/first": http.StatusNotFound, "/both": http.StatusOK, "/second": http.StatusOK} {
		if err := p.manager.served("/"+name+path, want); err != nil {
			return err
		}
	}
	return nil
}

func (p *publisher) remove() error {
	name := p.name(p.deleted)
	if _, err := p.manager.change(http.MethodDelete, name, "", http.StatusNoContent); err != nil {
		return err
	}
	p.deleted++
	return p.manager.served("/"+name+"/both", http.StatusNotFound)
}
