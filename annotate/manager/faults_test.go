package manager_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/storage"
)

var errDisk = errors.New("disk on fire")

// faultyDocuments refuses to write while it is broken.
type faultyDocuments struct {
	storage.Documents
	broken atomic.Bool
}

func (d *faultyDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if d.broken.Load() {
		return 0, errDisk
	}
	return d.Documents.Create(ctx, key, data)
}

func (d *faultyDocuments) Update(
	ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error,
) {
	if d.broken.Load() {
		return 0, errDisk
	}
	return d.Documents.Update(ctx, key, prev, data)
}

func (d *faultyDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if d.broken.Load() {
		return errDisk
	}
	return d.Documents.Delete(ctx, key, prev)
}

func TestManager_storageError_undoesTheChange(t *testing.T) {
	documents := &faultyDocuments{Documents: storage.NewMemoryDocuments()}
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	create(t, m, withSideTopics(config("runs")))
	rests := config("rests")
	rests.Stopped = true
	create(t, m, rests)
	documents.broken.Store(true)

	_, err := m.Create(t.Context(), config("new"))
	require.ErrorIs(t, err, errDisk)
	_, err = m.Get("new")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	_, err = m.Patch(t.Context(), "runs", manager.Update{Run: manager.Off})
	require.ErrorIs(t, err, errDisk)
	require.False(t, status(t, m, "runs").Stopped)
	_, err = m.Patch(t.Context(), "runs", manager.Update{Error: manager.Off})
	require.ErrorIs(t, err, errDisk)
	require.False(t, status(t, m, "runs").Off.Error)
	_, err = m.Patch(t.Context(), "rests", manager.Update{Run: manager.On})
	require.ErrorIs(t, err, errDisk)
	require.True(t, status(t, m, "rests").Stopped)
	require.ErrorIs(t, m.Delete(t.Context(), "runs"), errDisk)
	require.False(t, status(t, m, "runs").Stopped)
	_, err = m.Annotations().Add(t.Context(), config("").Mapping)
	require.ErrorIs(t, err, errDisk)

	documents.broken.Store(false)
	create(t, m, config("new"))
	require.NoError(t, m.Delete(t.Context(), "runs"))
}

func TestNew_errorsNameTheField(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	for field, change := range map[string]func(*manager.Config){
		"Environment.Drivers":         func(c *manager.Config) { c.Drivers = nil },
		"Environment.Window":          func(c *manager.Config) { c.Window = -1 },
		"Environment.MaxMessageBytes": func(c *manager.Config) { c.MaxMessageBytes = -1 },
		"Environment.ConnectTimeout":  func(c *manager.Config) { c.ConnectTimeout = -1 },
		"Config.MaxShutdown":          func(c *manager.Config) { c.MaxShutdown = -1 },
		"Config.PollInterval":         func(c *manager.Config) { c.PollInterval = -1 },
		"Config.LeaseDuration":        func(c *manager.Config) { c.Shared, c.Instance, c.LeaseDuration = true, "a", time.Millisecond },
		"Environment.Instance":        func(c *manager.Config) { c.Shared = true },
		"Config.Secret":               func(c *manager.Config) { c.Secret = strings.Repeat("x", 31) },
	} {
		c := managerConfig(b, nil)
		change(&c)
		_, err := manager.New(c)
		require.ErrorContains(t, err, ": "+field+": ")
	}
}

func TestManager_Create_shortensIdentifiersOfLongTopics(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	c := config("")
	c.Input.Name = strings.Repeat("ü", 2000)
	c.Output.Name = strings.Repeat("b", 2000)
	id := create(t, m, c)
	require.LessOrEqual(t, len(id), 480)
	require.False(t, status(t, m, id).Stopped)
}

func TestNewHandler_answersWhileTheServiceStarts(t *testing.T) {
	m, err := manager.New(managerConfig(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	c := newClientOf(t, m)
	const unavailable = "Service not available: annotate: the service is starting or stopping"
	c.text(c.send("POST", "/channels", channelJSON(t, "early", nil, nil, nil)), 503, unavailable)
	c.json(c.get("/status"), `{"status": "INITIALIZING"}`)
	c.text(c.get("/readyz"), 503, "annotate: the service is starting or stopping")
	c.text(c.get("/healthz"), 200, "ok")
}
