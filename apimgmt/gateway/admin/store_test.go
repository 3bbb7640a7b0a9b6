package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = 30 * time.Second

func ExampleOpen() {
	ctx := context.Background()
	documents := storage.NewMemoryDocuments()
	// serve is what a process does when it starts.
	serve := func() (*gateway.Gateway, *admin.Store, error) {
		g, err := gateway.New(nil)
		if err != nil {
			return nil, nil, err
		}
		store, err := admin.Open(ctx, admin.StoreConfig{Gateway: g, Documents: documents})
		return g, store, err
	}
	_, store, err := serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.Publish(ctx, "enabler:lamps", entity.Config{
		Services: []entity.Service{{Name: "lamps", Host: "lamps.example"}},
		Routes:   []entity.Route{{Name: "lamps", Paths: []string{"/lamps"}, Service: &entity.Ref{Name: "lamps"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, _, err := serve() // after a crash, or in another process
	if err != nil {
		fmt.Println(err)
		return
	}
	config, _ := g.Config()
	fmt.Println(config.Routes[0].Name, config.Routes[0].Tags)
	// Output:
	// lamps [enabler:lamps]
}

// note is a kind of plugin that takes any configuration, and refuses "bad".
func note() gateway.Kind {
	return gateway.Kind{Name: "note", Compile: func(s gateway.Setup) (gateway.Plugin, error) {
		var config struct {
			Text string `json:"text"`
		}
		if err := s.Decode(&config); err != nil {
			return gateway.Plugin{}, err
		}
		if config.Text == "bad" {
			return gateway.Plugin{}, errors.New("config.text: is bad")
		}
		return gateway.Plugin{}, nil
	}}
}

// secretive is a kind of plugin that has a secret.
func secretive() gateway.Kind {
	return gateway.Kind{Name: "secretive", Compile: func(s gateway.Setup) (gateway.Plugin, error) {
		var config struct {
			Secret string `json:"client_secret"`
			Issuer string `json:"issuer"`
		}
		return gateway.Plugin{}, s.Decode(&config)
	}}
}

func newGateway(t *testing.T) *gateway.Gateway {
	g, err := gateway.New(&gateway.Options{Kinds: append(plugin.Kinds(), note(), secretive())})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

func openStore(t *testing.T, docs storage.Documents) (*admin.Store, *gateway.Gateway) {
	g := newGateway(t)
	s, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: docs, Interval: 5 * time.Millisecond})
	require.NoError(t, err)
	return s, g
}

// thing is an API of one service and one route.
func thing(name string) entity.Config {
	return entity.Config{
		Services: []entity.Service{{Name: name, Host: name + ".example"}},
		Routes:   []entity.Route{{Name: name, Paths: []string{"/" + name}, Service: &entity.Ref{Name: name}}},
	}
}

func TestStore_servesAcknowledgedWritesAfterACrash(t *testing.T) {
	dir := t.TempDir()
	open := func() (*disk.Store, *admin.Store, *gateway.Gateway) {
		d, err := disk.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		s, g := openStore(t, storage.Prefixed(d.Documents(), "gateway/"))
		return d, s, g
	}
	d, s, _ := open()
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	require.NoError(t, s.Publish(t.Context(), "b", thing("doors")))
	require.NoError(t, s.Publish(t.Context(), "a", entity.Config{}))
	want, err := s.Config(t.Context())
	require.NoError(t, err)
	require.NoError(t, d.Close())

	d, s, g := open()
	served, _ := g.Config()
	require.Equal(t, want, served)
	require.Len(t, served.Services, 1)
	require.Equal(t, "doors", served.Services[0].Name)
	require.NoError(t, s.Ready())
	require.NoError(t, d.Close())
}

// unreliable is a store of documents whose methods fail on demand.
type unreliable struct {
	storage.Documents
	mu      sync.Mutex
	fail    string // the method that fails
	pretend bool   // whether it fails having done what it should
}

func (u *unreliable) set(fail string, pretend bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fail, u.pretend = fail, pretend
}

func (u *unreliable) fails(method string) (fails, pretend bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fail == method, u.pretend
}

func (u *unreliable) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	fails, pretend := u.fails("create")
	if !fails || pretend {
		revision, err := u.Documents.Create(ctx, key, data)
		if !fails {
			return revision, err
		}
	}
	return 0, storage.ErrUnavailable
}

func (u *unreliable) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	fails, pretend := u.fails("update")
	if !fails || pretend {
		revision, err := u.Documents.Update(ctx, key, prev, data)
		if !fails {
			return revision, err
		}
	}
	return 0, storage.ErrUnavailable
}

func TestStore_servesNothingThatIsNotStored(t *testing.T) {
	docs := &unreliable{Documents: storage.NewMemoryDocuments()}
	s, g := openStore(t, docs)
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	before, revision := g.Config()
	for _, method := range []string{"create", "update"} {
		docs.set(method, false)
		err := s.Publish(t.Context(), "a", thing("doors"))
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.NotErrorIs(t, err, entity.ErrInvalid)
		served, now := g.Config()
		require.Equal(t, before, served)
		require.Equal(t, revision, now)
	}
	docs.set("", false)
	require.NoError(t, s.Publish(t.Context(), "a", thing("doors")))
}

func TestStore_servesAWriteOfUnknownOutcomeOnceItIsRead(t *testing.T) {
	docs := &unreliable{Documents: storage.NewMemoryDocuments()}
	s, g := openStore(t, docs)
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	docs.set("update", true)
	require.ErrorIs(t, s.Publish(t.Context(), "a", thing("doors")), storage.ErrUnavailable)
	docs.set("", false)
	config, err := s.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, "doors", config.Services[0].Name)
	served, _ := g.Config()
	require.Equal(t, config, served)
}

func TestStore_storesNothingThatTheGatewayRefuses(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	s, _ := openStore(t, docs)
	bad := thing("lamps")
	bad.Plugins = []entity.Plugin{{Name: "note", Config: json.RawMessage(`{"text":"bad"}`)}}
	err := s.Publish(t.Context(), "a", bad)
	require.ErrorIs(t, err, entity.ErrInvalid)
	var field *entity.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "config.text", field.Field)
	bad.Plugins[0] = entity.Plugin{Name: "no-such-plugin"}
	require.ErrorIs(t, s.Publish(t.Context(), "a", bad), entity.ErrInvalid)
	require.NoError(t, s.Publish(t.Context(), "b", thing("doors")))
	require.ErrorIs(t, s.Publish(t.Context(), "a", thing("doors")), entity.ErrConflict)
	_, g := openStore(t, docs)
	served, _ := g.Config()
	require.Len(t, served.Services, 1)
}

func TestStore_convergesOverSeveralProcesses(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	var stores []*admin.Store
	var gateways []*gateway.Gateway
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 3 {
		s, g := openStore(t, docs)
		stores, gateways = append(stores, s), append(gateways, g)
		running.Go(func() { _ = s.Run(ctx) })
	}
	var publishing sync.WaitGroup
	failed := make(chan error, 30)
	for i := range 30 {
		publishing.Go(func() {
			name := fmt.Sprint("api", i)
			for {
				err := stores[i%3].Publish(ctx, "owner-"+name, thing(name))
				if errors.Is(err, admin.ErrBusy) {
					continue
				}
				failed <- err
				return
			}
		})
	}
	publishing.Wait()
	for range 30 {
		require.NoError(t, <-failed)
	}
	for _, g := range gateways {
		require.Eventually(t, func() bool {
			config, _ := g.Config()
			return len(config.Services) == 30 && len(config.Routes) == 30
		}, patience, 5*time.Millisecond)
	}
	stop()
	running.Wait()
}

func TestStore_keepsTimesOfCreationAndChange(t *testing.T) {
	s, _ := openStore(t, storage.NewMemoryDocuments())
	began := time.Now().Unix()
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	first, err := s.Config(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, first.Services[0].CreatedAt, began)
	require.Equal(t, first.Services[0].CreatedAt, first.Services[0].UpdatedAt)

	lie := thing("lamps")
	lie.Services[0].CreatedAt, lie.Services[0].UpdatedAt = 7, 7
	lie.Services[0].Path = "/v2"
	require.NoError(t, s.Publish(t.Context(), "a", lie))
	second, err := s.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.Services[0].CreatedAt, second.Services[0].CreatedAt)
	require.GreaterOrEqual(t, second.Services[0].UpdatedAt, first.Services[0].UpdatedAt)
	require.Equal(t, first.Routes[0], second.Routes[0], "what has not changed keeps its times")
}

func TestStore_Publish_writesNothingWhenUnchanged(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	s, g := openStore(t, docs)
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	before, err := docs.Get(t.Context(), "config")
	require.NoError(t, err)
	_, revision := g.Config()
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	after, err := docs.Get(t.Context(), "config")
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, now := g.Config()
	require.Equal(t, revision, now)
}

func TestStore_refusesADamagedConfiguration(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	s, g := openStore(t, docs)
	require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
	pieces, err := docs.List(t.Context(), "config/", "", 0)
	require.NoError(t, err)
	require.Len(t, pieces, 1)
	_, err = docs.Update(t.Context(), pieces[0].Key, pieces[0].Revision, []byte(`"e30="`))
	require.NoError(t, err)
	_, err = admin.Open(t.Context(), admin.StoreConfig{Gateway: newGateway(t), Documents: docs})
	require.ErrorIs(t, err, admin.ErrRecord)

	// Nor is one that has gone taken for an empty one.
	h, err := docs.Get(t.Context(), "config")
	require.NoError(t, err)
	require.NoError(t, docs.Delete(t.Context(), "config", h.Revision))
	_, err = s.Config(t.Context())
	require.ErrorIs(t, err, admin.ErrRecord)
	config, _ := g.Config()
	require.Len(t, config.Services, 1)
}

func TestStore_Run_sweepsPiecesOfACrashedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		s, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: newGateway(t), Documents: docs, Interval: time.Minute})
		require.NoError(t, err)
		require.NoError(t, s.Publish(t.Context(), "a", thing("lamps")))
		id, err := uuid.NewV7()
		require.NoError(t, err)
		key := "config/" + id.String() + "/00000"
		_, err = docs.Create(t.Context(), key, []byte(`""`))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(50 * time.Minute)
		_, err = docs.Get(t.Context(), key)
		require.NoError(t, err, "its writer may be at work")
		time.Sleep(3 * time.Hour)
		_, err = docs.Get(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrNotFound)
		stop()
		require.NoError(t, <-done)
		config, err := s.Config(t.Context())
		require.NoError(t, err)
		require.Len(t, config.Services, 1)
	})
}

func TestStore_Publish_servesTheRoutes(t *testing.T) {
	s, g := openStore(t, storage.NewMemoryDocuments())
	config := thing("lamps")
	config.Plugins = []entity.Plugin{{Name: "request-termination", Route: &entity.Ref{Name: "lamps"},
		Config: json.RawMessage(`{"status_code":418}`)}}
	require.NoError(t, s.Publish(t.Context(), "a", config))
	answer := httptest.NewRecorder()
	g.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/lamps", nil))
	require.Equal(t, http.StatusTeapot, answer.Code)
}
