package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/storage"
)

var errKilled = errors.New("killed")

// faults is a store that fails as configured.
type faults struct {
	storage.Documents
	mu     sync.Mutex
	writes int // until the one that fails; 0 means none
	mode   string
	dead   bool // nothing works any more
}

// The ways in which a write fails.
const (
	refusedWrite = "refused"            // nothing is written
	lostAnswer   = "lost answer"        // written, and an error all the same
	killedBefore = "killed before"      // the process is killed before the write
	killedAfter  = "killed after"       // and after it
	unreadable   = "lost, then no look" // written, an error, and nothing can be read for a while
)

func (f *faults) arm(mode string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes, f.mode = 1, mode
}

func (f *faults) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = false
}

func (f *faults) write(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errKilled
	}
	if f.writes == 0 {
		return do()
	}
	f.writes--
	f.dead = f.mode == killedBefore || f.mode == killedAfter || f.mode == unreadable
	if f.mode != refusedWrite && f.mode != killedBefore {
		if err := do(); err != nil {
			return err
		}
	}
	return errKilled
}

func (f *faults) Get(ctx context.Context, key string) (storage.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return storage.Document{}, errKilled
	}
	return f.Documents.Get(ctx, key)
}

func (f *faults) Create(ctx context.Context, key string, data []byte) (r storage.Revision, err error) {
	err = f.write(func() (err error) { r, err = f.Documents.Create(ctx, key, data); return err })
	return r, err
}

func (f *faults) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (r storage.Revision, err error) {
	err = f.write(func() (err error) { r, err = f.Documents.Update(ctx, key, prev, data); return err })
	return r, err
}

func (f *faults) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return f.write(func() error { return f.Documents.Delete(ctx, key, prev) })
}

// change is one of every kind.
type change struct{ method, path, body string }

func changes(t *testing.T) []change {
	k := `{"public_key":"` + nodetest.Key(t, 3) + `"}`
	return []change{
		{"POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`},
		{"POST", "/interfaces/add", `{"name":"mesh0","endpoint":"192.0.2.1:2"}`},
		{"PUT", "/interfaces", `{"order":["mesh0","wlan0"]}`},
		{"PATCH", "/interfaces/mesh0", `{"cost":4}`},
		{"POST", "/tunnel/client/add", k},
		{"PUT", "/tunnel/client/disable", k},
		{"PUT", "/tunnel/client/enable", k},
		{"PUT", "/bond", `{"policy":"redundant"}`},
		{"PUT", "/classes", `[{"name":"all"}]`},
		{"DELETE", "/tunnel/client/delete", k},
		{"DELETE", "/interfaces/wlan0", ``},
	}
}

// comesUp returns the state of an instance that is started on the documents.
func comesUp(t *testing.T, docs storage.Documents) multilink.State {
	t.Helper()
	i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0", "wwan0"), docs))
	state := i.Plane.Current()
	require.NoError(t, i.Stop())
	return state
}

func TestNode_Run_keepsAcknowledgedChangesAfterAKill(t *testing.T) {
	for _, mode := range []string{"before the plane", "after the plane", killedBefore, killedAfter} {
		for at := range changes(t) {
			t.Run(fmt.Sprintf("%s, change %d", mode, at), func(t *testing.T) {
				docs := storage.NewMemoryDocuments()
				f := &faults{Documents: docs}
				i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0"), f))
				for n, c := range changes(t) {
					acknowledged := i.Plane.Current()
					if n == at {
						switch mode {
						case "before the plane":
							i.Plane.Set(func(p *nodetest.Plane) { p.Before = func(multilink.State) error { return errKilled } })
						case "after the plane":
							f.mu.Lock()
							f.dead = true
							f.mu.Unlock()
						default:
							f.arm(mode)
						}
					}
					status, text := i.Ask(c.method, c.path, c.body)
					if n < at {
						require.Less(t, status, 300, text)
						continue
					}
					require.GreaterOrEqual(t, status, 500, text)
					applied := i.Plane.Current()
					require.NoError(t, i.Stop())
					found := comesUp(t, docs)
					if mode != killedAfter {
						require.Equal(t, acknowledged, found)
						return
					}
					require.NotEqual(t, acknowledged, found, "the change was stored, and holds wholly")
					require.Equal(t, acknowledged, applied, "a change without an answer is not applied")
					return
				}
			})
		}
	}
}

func TestNode_change_rollsBackWhatCannotBeStored(t *testing.T) {
	f := &faults{Documents: storage.NewMemoryDocuments()}
	i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0"), f))
	for _, c := range changes(t) {
		before := i.Plane.Current()
		f.arm(refusedWrite)
		status, text := i.Ask(c.method, c.path, c.body)
		require.Equal(t, http.StatusInternalServerError, status, text)
		require.NotContains(t, text, "killed", "causes are for the log")
		require.Equal(t, before, i.Plane.Current(), "%v", c)
		require.NoError(t, i.Node.Health())
		status, text = i.Ask(c.method, c.path, c.body)
		require.Less(t, status, 300, text)
	}
	require.Equal(t, i.Plane.Current(), comesUp(t, f.Documents))
}

func TestNode_change_findsAWriteWhoseAnswerWasLost(t *testing.T) {
	f := &faults{Documents: storage.NewMemoryDocuments()}
	i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0"), f))
	for _, c := range changes(t) {
		f.arm(lostAnswer)
		status, text := i.Ask(c.method, c.path, c.body)
		require.Less(t, status, 300, "%v: %s", c, text)
	}
	require.Equal(t, i.Plane.Current(), comesUp(t, f.Documents))
}

func TestNode_change_readsAnUncertainWriteLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{Documents: storage.NewMemoryDocuments()}
		i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0"), f))
		f.arm(unreadable)
		status, text := i.Ask("PUT", "/bond", `{"policy":"redundant"}`)
		require.Equal(t, http.StatusInternalServerError, status)
		require.Contains(t, text, "not known whether the change was stored")
		require.Error(t, i.Node.Health())
		status, _ = i.Ask("PUT", "/bond", `{"policy":"adaptive"}`)
		require.Equal(t, http.StatusInternalServerError, status, "not before it is known")
		f.heal()
		require.Eventually(t, func() bool { return i.Node.Health() == nil }, nodetest.Patience, 5*time.Millisecond)
		require.Equal(t, settings.Redundant, i.Plane.Current().Bond.Policy)
		require.Equal(t, "redundant", i.Do(http.StatusOK, "GET", "/bond", nil)["policy"])
		i.Do(http.StatusOK, "PUT", "/bond", `{"policy":"adaptive"}`)
	})
}

func TestNode_change_retriesARollbackThatThePlaneRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{Documents: storage.NewMemoryDocuments()}
		i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0"), f))
		f.arm(refusedWrite)
		i.Plane.Set(func(p *nodetest.Plane) {
			p.Before = func(s multilink.State) error {
				if s.Bond.Policy == settings.ActiveBackup {
					return errKilled
				}
				return nil
			}
		})
		status, _ := i.Ask("PUT", "/bond", `{"policy":"redundant"}`)
		require.Equal(t, http.StatusInternalServerError, status)
		require.ErrorContains(t, i.Node.Health(), "apply configuration")
		require.Equal(t, http.StatusServiceUnavailable, i.Send("GET", "/readyz", nil, nil).Code)
		i.Plane.Set(func(p *nodetest.Plane) { p.Before = nil })
		require.Eventually(t, func() bool { return i.Node.Health() == nil }, nodetest.Patience, 5*time.Millisecond)
		require.Equal(t, settings.ActiveBackup, i.Plane.Current().Bond.Policy)
	})
}

func TestNode_Run_leavesOutALinkWithoutItsInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		config := nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "wwan0"), docs)
		i := nodetest.Start(t, config)
		i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
		i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wwan0","endpoint":"192.0.2.1:2"}`)
		require.NoError(t, i.Stop())

		i = nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0"), docs)) // the modem is not plugged in
		require.Len(t, i.Plane.Current().Links, 1)
		all := i.List("/interfaces")
		require.Equal(t, "the interface wwan0 is missing", all[1]["reason"])
		require.Equal(t, "down", all[1]["state"])
		i.Do(http.StatusOK, "PUT", "/bond", `{"policy":"adaptive"}`)
		require.Len(t, i.Plane.Current().Links, 1)
		status, text := i.Ask("POST", "/interfaces/add", `{"name":"mesh0","endpoint":"192.0.2.1:3"}`)
		require.Equal(t, http.StatusBadRequest, status, "what is added has to be there")
		require.Contains(t, text, "mesh0")
		status, _ = i.Ask("POST", "/bond/switch", `{"link":"wwan0"}`)
		require.Equal(t, http.StatusConflict, status)
		i.Plane.Set(func(p *nodetest.Plane) { p.Known = append(p.Known, "wwan0") })
		require.Eventually(t, func() bool { return len(i.Plane.Current().Links) == 2 }, nodetest.Patience, 5*time.Millisecond)
		require.Equal(t, "", i.List("/interfaces")[1]["reason"])
	})
}

func TestOpen_refusesUnusableStoredSettings(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	_, err := node.Open(t.Context(), nodetest.NewConfig(node.Server, nodetest.NewPlane(), docs).Config)
	require.NoError(t, err)
	_, err = node.Open(t.Context(), nodetest.NewConfig(node.Client, nodetest.NewPlane(), docs).Config)
	require.ErrorIs(t, err, node.ErrData)
	require.ErrorContains(t, err, "it is that of a server, and this is to be a client")
	for _, text := range []string{`{}`, `{"version":2}`, `[]`, `{"version":1,"role":"server","private_key":"secret"}`} {
		doc, err := docs.Get(t.Context(), "node")
		require.NoError(t, err)
		_, err = docs.Update(t.Context(), "node", doc.Revision, []byte(text))
		require.NoError(t, err)
		_, err = node.Open(t.Context(), nodetest.NewConfig(node.Server, nodetest.NewPlane(), docs).Config)
		require.ErrorIs(t, err, node.ErrData, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestNode_Health_namesAMissingRight(t *testing.T) {
	p := nodetest.NewPlane("wlan0")
	lacks := func(multilink.State) error {
		return nodetest.Wrap("create device: needs CAP_NET_ADMIN", multilink.ErrDenied)
	}
	p.Before = lacks
	i := nodetest.Begin(t, nodetest.NewConfig(node.Server, p, storage.NewMemoryDocuments()))
	<-i.Node.Ready()
	require.ErrorContains(t, i.Node.Health(), "CAP_NET_ADMIN")
	require.Contains(t, i.Do(http.StatusOK, "GET", "/status", nil)["fault"], "CAP_NET_ADMIN")
	status, text := i.Ask("POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, text, "CAP_NET_ADMIN")
	p.Set(func(p *nodetest.Plane) { p.Before = nil })
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	require.NoError(t, i.Node.Health())
	require.NoError(t, i.Stop())
}
