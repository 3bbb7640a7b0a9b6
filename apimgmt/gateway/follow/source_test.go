package follow_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

// serving serves requests with the handler that a function chooses, and counts them.
func serving(t *testing.T, choose func(n int32) http.Handler) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		choose(asked.Add(1)).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// Two managers behind one address; the older one lacks a plugin that the configuration has now.
func TestFollower_doesNotGoBackToWhatAnOlderManagerServes(t *testing.T) {
	later := plugin.Prometheus() // which changes no answer
	later.Name = "of-a-later-version"
	docs := storage.NewMemoryDocuments()
	newer := planeOver(t, docs, later)
	newer.serve(t, "one")
	older := planeOver(t, docs)
	newer.serve(t, "two", entity.Plugin{Name: later.Name, Config: []byte(`{}`)})
	address, asked := serving(t, func(n int32) http.Handler {
		return []http.Handler{older.Config.Handler, newer.Config.Handler}[n%2]
	})
	d := followsAt(t, address, filepath.Join(t.TempDir(), "kept"), later)
	require.Eventually(t, func() bool { return d.answer() == "two" }, patience, time.Millisecond)
	sent := newer.sent.Load()
	for until := asked.Load() + 20; asked.Load() < until; {
		require.Equal(t, "two", d.answer())
	}
	require.Zero(t, older.sent.Load(), "it does not serve what is stored")
	require.Equal(t, sent, newer.sent.Load())
}

func TestFollower_servesOnWhenTheControlPlaneHasLostItsStore(t *testing.T) {
	p, empty := newPlane(t), newPlane(t)
	p.serve(t, "one")
	var lost atomic.Bool
	address, _ := serving(t, func(int32) http.Handler {
		if lost.Load() {
			return empty.Config.Handler
		}
		return p.Config.Handler
	})
	file := filepath.Join(t.TempDir(), "kept")
	d := followsAt(t, address, file)
	require.Eventually(t, func() bool { return d.answer() == "one" }, patience, time.Millisecond)
	lost.Store(true)
	for range 2 { // before and after a restart
		d.waitFor(t, func(s follow.State) bool { return s.Refused != nil })
		require.ErrorContains(t, d.follower.State().Refused, "is its -store the right one?")
		require.Equal(t, "one", d.answer())
		d.stop()
		d = followsAt(t, address, file)
	}
	lost.Store(false)
	d.waitFor(t, func(s follow.State) bool { return s.Refused == nil && s.Unreachable == nil })
	require.Equal(t, "one", d.answer())
}

func TestFollower_servesNothingOfANewControlPlane(t *testing.T) {
	d := follows(t, newPlane(t), filepath.Join(t.TempDir(), "kept"))
	d.waitFor(t, func(s follow.State) bool { return s.Serving && s.Refused == nil })
}

func TestFollower_refusesARestrictionThatItDoesNotHave(t *testing.T) {
	answer := func(tag, more string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", tag)
			_, _ = io.WriteString(w, `{"secret":"the secret of cookies","config":{"routes":[{"name":"r","paths":["/"]`+more+`}]}}`)
		})
	}
	var later atomic.Bool
	address, _ := serving(t, func(int32) http.Handler {
		if later.Load() {
			return answer(`"two"`, `,"only_in_the_morning":true`)
		}
		return answer(`"one"`, "")
	})
	d := followsAt(t, address, filepath.Join(t.TempDir(), "kept"))
	d.waitFor(t, func(s follow.State) bool { return s.Serving })
	later.Store(true)
	d.waitFor(t, func(s follow.State) bool { return s.Refused != nil })
	require.ErrorContains(t, d.follower.State().Refused, "only_in_the_morning")
}

// A proxy may make the tag a weak one, and may not forward the condition.
func TestFollower_servesTheSameOnceWhateverAProxyMakesOfTheTag(t *testing.T) {
	p := newPlane(t)
	p.serve(t, "one")
	address, asked := serving(t, func(int32) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-None-Match")
			recorded := httptest.NewRecorder()
			p.Config.Handler.ServeHTTP(recorded, r)
			w.Header().Set("ETag", "W/"+recorded.Header().Get("ETag"))
			w.Header().Set("Content-Encoding", recorded.Header().Get("Content-Encoding"))
			_, _ = w.Write(recorded.Body.Bytes())
		})
	})
	file := filepath.Join(t.TempDir(), "kept")
	d := followsAt(t, address, file)
	d.waitFor(t, func(s follow.State) bool { return s.Serving && s.Unreachable == nil })
	kept := modified(t, file)
	until := asked.Load() + 5
	require.Eventually(t, func() bool { return asked.Load() > until }, patience, time.Millisecond)
	require.Equal(t, kept, modified(t, file), "what is the same is not written again")
}

// modified waits until a file is there, and says when it was written.
func modified(t *testing.T, name string) (at time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := os.Stat(name)
		if err == nil {
			at = info.ModTime()
		}
		return err == nil
	}, patience, time.Millisecond)
	return at
}
