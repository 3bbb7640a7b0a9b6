package manager_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/storage"
)

func TestManager_storageError_undoesTheChange(t *testing.T) {
	documents := &managertest.FaultyDocuments{Documents: storage.NewMemoryDocuments()}
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	managertest.Create(t, m, managertest.WithSideTopics(managertest.Channel("runs")))
	rests := managertest.Channel("rests")
	rests.Stopped = true
	managertest.Create(t, m, rests)
	documents.Broken.Store(true)

	_, err := m.Create(t.Context(), managertest.Channel("new"))
	require.ErrorIs(t, err, managertest.ErrDisk)
	_, err = m.Get("new")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	_, err = m.Patch(t.Context(), "runs", manager.Update{Run: manager.Off})
	require.ErrorIs(t, err, managertest.ErrDisk)
	require.False(t, managertest.Status(t, m, "runs").Stopped)
	_, err = m.Patch(t.Context(), "runs", manager.Update{Error: manager.Off})
	require.ErrorIs(t, err, managertest.ErrDisk)
	require.False(t, managertest.Status(t, m, "runs").Off.Error)
	_, err = m.Patch(t.Context(), "rests", manager.Update{Run: manager.On})
	require.ErrorIs(t, err, managertest.ErrDisk)
	require.True(t, managertest.Status(t, m, "rests").Stopped)
	require.ErrorIs(t, m.Delete(t.Context(), "runs"), managertest.ErrDisk)
	require.False(t, managertest.Status(t, m, "runs").Stopped)
	_, err = m.Annotations().Add(t.Context(), managertest.Channel("").Mapping)
	require.ErrorIs(t, err, managertest.ErrDisk)

	documents.Broken.Store(false)
	managertest.Create(t, m, managertest.Channel("new"))
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
		"Config.LeaseDuration": func(c *manager.Config) {
			c.Shared = true
			c.Instance = "a"
			c.LeaseDuration = time.Millisecond
		},
		"Environment.Instance": func(c *manager.Config) { c.Shared = true },
		"Config.Secret":        func(c *manager.Config) { c.Secret = strings.Repeat("x", 31) },
	} {
		c := managertest.Config(b, nil)
		change(&c)
		_, err := manager.New(c)
		require.ErrorContains(t, err, ": "+field+": ")
	}
}

func TestManager_Create_shortensIdentifiersOfLongTopics(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	c := managertest.Channel("")
	c.Input.Name = strings.Repeat("ü", 2000)
	c.Output.Name = strings.Repeat("b", 2000)
	id := managertest.Create(t, m, c)
	require.LessOrEqual(t, len(id), 480)
	require.False(t, managertest.Status(t, m, id).Stopped)
}
