package modelrepo_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

// patience is how long a test waits for what must happen. It is no measure of speed.
const patience = 2 * time.Minute

// call is one call of a callback.
type call struct {
	header http.Header
	body   string
}

// receiver is a callback that records its calls.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	calls  []call
	hangAt int    // the call that gets no answer until it is broken off; zero means none
	during func() // is called in each call, outside of a bubble; nil is not
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.calls = append(r.calls, call{req.Header, string(body)})
		hangs := len(r.calls) == r.hangAt
		r.mu.Unlock()
		if r.during != nil {
			r.during()
		}
		if hangs {
			<-req.Context().Done()
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status >= 300 && r.status < 400 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) received() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

func (r *receiver) await(t *testing.T, count int) []call {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.received()) >= count }, patience, 2*time.Millisecond)
	return r.received()
}

// hooked returns a repository that delivers at once and to any address.
func hooked(t *testing.T, docs storage.Documents, change func(*modelrepo.Config)) *modelrepo.Store {
	t.Helper()
	config := modelrepo.Config{Documents: docs, Blobs: storage.NewMemoryBlobs(), Webhooks: modelrepo.WebhookConfig{
		AllowPrivate: true, Retry: time.Millisecond, Poll: 5 * time.Millisecond, Timeout: patience,
	}}
	if change != nil {
		change(&config)
	}
	s, err := modelrepo.New(config)
	require.NoError(t, err)
	return s
}

// run runs the repository and returns a function that stops it.
func run(t *testing.T, s *modelrepo.Store) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

func hook(t *testing.T, s *modelrepo.Store, action modelrepo.Action, callback string) modelrepo.NewWebhook {
	t.Helper()
	created, err := s.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{Action: action, Callback: callback})
	require.NoError(t, err)
	return created
}

func TestStore_Run_deliversSignedEventsOfEveryAction(t *testing.T) {
	s, to := hooked(t, storage.NewMemoryDocuments(), nil), newReceiver(t)
	secrets, ids := map[string]string{}, map[string]string{}
	for _, action := range []modelrepo.Action{
		modelrepo.NamespaceCreate, modelrepo.ModelCreate, modelrepo.ModelVersionCreate, modelrepo.ContentUpload,
		modelrepo.ContentDelete, modelrepo.ModelVersionDelete, modelrepo.ModelDelete, modelrepo.NamespaceDelete,
	} {
		created := hook(t, s, action, to.URL)
		secrets[string(action)], ids[string(action)] = created.Secret, created.ID
	}
	_, err := s.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{
		Action: modelrepo.NamespaceCreate, Callback: to.URL, Context: &modelrepo.WebhookContext{Namespace: "elsewhere"},
	})
	require.NoError(t, err)
	run(t, s)
	model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	contexts := map[string]string{}
	step := func(action, where string, err error) {
		t.Helper()
		require.NoError(t, err)
		contexts[action] = where
		to.await(t, len(contexts))
	}
	version := `{"namespace":"w3c","model":"sosa","version":"1.0"}`
	step("namespace_create", `{"namespace":"w3c"}`, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.ErrorIs(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}), modelrepo.ErrExists) // no event
	step("model_create", `{"namespace":"w3c","model":"sosa"}`, s.CreateModel(t.Context(), model, modelrepo.ModelUpdate{}))
	step("model_version_create", version, s.CreateVersion(t.Context(), sosa, modelrepo.VersionUpdate{}))
	_, err = s.Upload(t.Context(), sosa, "text/turtle", strings.NewReader("# SOSA\n"), nil)
	step("content_upload", version, err)
	require.ErrorIs(t, s.DeleteVersion(t.Context(), sosa), modelrepo.ErrNotEmpty)
	step("content_delete", version, s.DeleteContent(t.Context(), sosa, "text/turtle", modelrepo.Condition{}))
	step("model_version_delete", version, s.DeleteVersion(t.Context(), sosa))
	step("model_delete", `{"namespace":"w3c","model":"sosa"}`, s.DeleteModel(t.Context(), model))
	step("namespace_delete", `{"namespace":"w3c"}`, s.DeleteNamespace(t.Context(), "w3c"))
	calls := to.received()
	require.Len(t, calls, len(contexts))
	for _, call := range calls {
		var body struct {
			Action    string
			HookID    string `json:"hookId"`
			Timestamp time.Time
			Context   json.RawMessage
			Body      map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(call.body), &body))
		mac := hmac.New(sha256.New, []byte(secrets[body.Action]))
		mac.Write([]byte(call.body))
		require.Equal(t, "sha256="+hex.EncodeToString(mac.Sum(nil)), call.header.Get("X-Modelrepo-Signature-256"))
		require.Equal(t, ids[body.Action], body.HookID)
		require.JSONEq(t, contexts[body.Action], string(body.Context))
		require.WithinDuration(t, time.Now(), body.Timestamp, time.Minute)
		if body.Action == "content_upload" {
			require.Equal(t, "text/turtle", body.Body["format"])
			require.EqualValues(t, 7, body.Body["size"])
		}
	}
	require.Eventually(t, func() bool { return s.Stats().Delivered == uint64(len(contexts)) }, patience, time.Millisecond)
}

func TestStore_Run_deliversInOrderThroughFailuresAndRestarts(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	s, to := hooked(t, docs, nil), newReceiver(t)
	hook(t, s, modelrepo.NamespaceCreate, to.URL)
	to.answer(http.StatusInternalServerError)
	to.hangAt = 3                                          // so that none is under way, or follows, when it stops
	for _, name := range []string{"one", "two", "three"} { // before Run
		require.NoError(t, s.CreateNamespace(t.Context(), name, modelrepo.NamespaceUpdate{}))
	}
	stop := run(t, s)
	to.await(t, 3)
	stop()
	for _, call := range to.received() {
		require.Contains(t, call.body, `"one"`)
		require.Equal(t, to.received()[0].header.Get("X-Modelrepo-Delivery"), call.header.Get("X-Modelrepo-Delivery"))
	}
	failures := len(to.received())
	to.answer(http.StatusNoContent)
	again := hooked(t, docs, nil)
	run(t, again)
	require.NoError(t, again.CreateNamespace(t.Context(), "four", modelrepo.NamespaceUpdate{}))
	calls := to.await(t, failures+4)[failures:]
	require.Len(t, calls, 4)
	for i, name := range []string{"one", "two", "three", "four"} {
		require.Contains(t, calls[i].body, `"`+name+`"`)
	}
}

func TestStore_Run_followsNoRedirectOfACallback(t *testing.T) {
	s, to := hooked(t, storage.NewMemoryDocuments(), nil), newReceiver(t)
	hook(t, s, modelrepo.NamespaceCreate, to.URL)
	to.answer(http.StatusTemporaryRedirect)
	run(t, s)
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	to.await(t, 3)
	require.Zero(t, s.Stats().Delivered)
	to.answer(http.StatusOK)
	require.Eventually(t, func() bool { return s.Stats().Delivered == 1 }, patience, time.Millisecond)
}

func TestStore_Run_callsNoPrivateAddress(t *testing.T) {
	to := newReceiver(t)
	s := hooked(t, storage.NewMemoryDocuments(), func(c *modelrepo.Config) {
		c.Webhooks.AllowPrivate, c.Webhooks.GiveUp = false, time.Nanosecond
	})
	hook(t, s, modelrepo.NamespaceCreate, to.URL)
	hook(t, s, modelrepo.NamespaceCreate, strings.Replace(to.URL, "127.0.0.1", "localhost", 1))
	run(t, s)
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.Eventually(t, func() bool { return s.Stats().GivenUp == 2 }, patience, time.Millisecond)
	require.Empty(t, to.received())
}

func TestStore_Run_deliversWhileAnotherCallbackHangs(t *testing.T) {
	s, to := hooked(t, storage.NewMemoryDocuments(), nil), newReceiver(t)
	release := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}))
	defer dead.Close()
	defer close(release)
	hook(t, s, modelrepo.NamespaceCreate, dead.URL)
	hook(t, s, modelrepo.NamespaceCreate, to.URL)
	run(t, s)
	for _, name := range []string{"one", "two", "three"} {
		require.NoError(t, s.CreateNamespace(t.Context(), name, modelrepo.NamespaceUpdate{}))
	}
	to.await(t, 3)
}

func TestStore_Run_deliversOnceFromSeveralProcesses(t *testing.T) {
	docs, to := storage.NewMemoryDocuments(), newReceiver(t)
	var all []*modelrepo.Store
	for range 3 {
		s := hooked(t, docs, nil)
		all = append(all, s)
	}
	hook(t, all[0], modelrepo.NamespaceCreate, to.URL)
	for _, s := range all {
		run(t, s)
	}
	const count = 30
	for i := range count {
		require.NoError(t, all[i%3].CreateNamespace(t.Context(), "namespace"+strings.Repeat("x", i), modelrepo.NamespaceUpdate{}))
	}
	to.await(t, count)
	require.Eventually(t, func() bool {
		left, err := docs.List(t.Context(), "event/", "", 1)
		return err == nil && len(left) == 0
	}, patience, time.Millisecond)
	require.Equal(t, count, len(to.received()))
}

func TestStore_Run_deliversEventsThatACrashLeft(t *testing.T) {
	docs, to := storage.NewMemoryDocuments(), newReceiver(t)
	s := hooked(t, docs, func(c *modelrepo.Config) { c.Settle = time.Nanosecond })
	created := hook(t, s, modelrepo.NamespaceDelete, to.URL)
	require.NoError(t, s.CreateNamespace(t.Context(), "there", modelrepo.NamespaceUpdate{}))
	for id, name := range map[string]string{"1": "gone", "2": "there"} {
		_, err := docs.Create(t.Context(), "intent/"+id,
			[]byte(`{"id":"`+id+`","action":"namespace_delete","at":{"Namespace":"`+name+
				`"},"time":"2020-01-01T00:00:00Z","hooks":["`+created.ID+`"]}`))
		require.NoError(t, err)
	}
	run(t, s)
	require.Contains(t, to.await(t, 1)[0].body, `"gone"`)
	require.Eventually(t, func() bool {
		left, err := docs.List(t.Context(), "intent/", "", 1)
		return err == nil && len(left) == 0
	}, patience, time.Millisecond)
	require.Len(t, to.received(), 1)
}

func TestStore_Run_givesUpEventsFromBeforeTheClockWasSetBack(t *testing.T) {
	docs, to := storage.NewMemoryDocuments(), newReceiver(t)
	to.answer(http.StatusServiceUnavailable)
	s := hooked(t, docs, func(c *modelrepo.Config) { c.Settle = time.Millisecond })
	created := hook(t, s, modelrepo.NamespaceDelete, to.URL)
	keys := []string{"event/" + created.ID + "/1", "intent/2"}
	for _, key := range keys {
		_, err := docs.Create(t.Context(), key, []byte(`{"id": "1", "action": "namespace_create", "at": {"Namespace": "gone"},
			"time": "2100-01-01T00:00:00Z", "hooks": ["`+created.ID+`"]}`))
		require.NoError(t, err)
	}
	run(t, s)
	for _, key := range keys {
		require.Eventually(t, func() bool {
			_, err := docs.Get(t.Context(), key)
			return errors.Is(err, storage.ErrNotFound)
		}, patience, time.Millisecond, key)
	}
}

func TestStore_Run_boundsTheQueueOfAFailingCallback(t *testing.T) {
	docs, to := storage.NewMemoryDocuments(), newReceiver(t)
	to.answer(http.StatusServiceUnavailable)
	s := hooked(t, docs, func(c *modelrepo.Config) { c.Webhooks.MaxQueued, c.Settle = 3, time.Millisecond })
	created := hook(t, s, modelrepo.NamespaceCreate, to.URL)
	for i := range 10 {
		require.NoError(t, s.CreateNamespace(t.Context(), "namespace"+strings.Repeat("x", i), modelrepo.NamespaceUpdate{}))
	}
	run(t, s)
	queued := func() int {
		left, err := docs.List(t.Context(), "event/", "", 100)
		require.NoError(t, err)
		return len(left)
	}
	require.Eventually(t, func() bool { return queued() == 3 }, patience, time.Millisecond)
	require.NoError(t, s.Webhooks().Delete(t.Context(), created.ID))
	require.Eventually(t, func() bool { return queued() == 0 }, patience, time.Millisecond)
}

func TestWebhooks_createListAndDeleteOverHTTP(t *testing.T) {
	s := hooked(t, storage.NewMemoryDocuments(), nil)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	defer server.Close()
	client, err := client.New(server.URL, nil)
	require.NoError(t, err)
	created, err := client.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{
		Action: modelrepo.ContentUpload, Callback: "https://example.org/hook", Secret: "a secret of some length",
		Context: &modelrepo.WebhookContext{Namespace: "w3c"},
	})
	require.NoError(t, err)
	require.Equal(t, "a secret of some length", created.Secret)
	all, err := client.Webhooks().List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	one, err := client.Webhooks().Get(t.Context(), created.ID)
	require.NoError(t, err)
	require.Equal(t, all[0], one)
	for _, path := range []string{"/h", "/v1/webhook", "/v1/webhook/" + created.ID} {
		answer, err := http.Get(server.URL + path)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Contains(t, string(body), "https://example.org/hook")
		require.NotContains(t, string(body), "secret")
	}
	require.NoError(t, client.Webhooks().Delete(t.Context(), created.ID))
	require.ErrorIs(t, client.Webhooks().Delete(t.Context(), created.ID), modelrepo.ErrNotFound)
	require.ErrorIs(t, client.Webhooks().Delete(t.Context(), "../w3c"), modelrepo.ErrNotFound)
	for _, bad := range []modelrepo.WebhookRequest{
		{Action: "other", Callback: "https://example.org/"},
		{Action: modelrepo.ContentUpload, Callback: "ftp://example.org/"},
		{Action: modelrepo.ContentUpload, Callback: "https://user:word@example.org/"},
		{Action: modelrepo.ContentUpload, Callback: "https:///path"},
		{Action: modelrepo.ContentUpload, Callback: "https://example.org/", Secret: "short"},
		{Action: modelrepo.ContentUpload, Callback: "https://example.org/", Context: &modelrepo.WebhookContext{Namespace: "a b"}},
	} {
		_, err := client.Webhooks().Create(t.Context(), bad)
		require.ErrorIs(t, err, modelrepo.ErrInvalid, "%+v", bad)
	}
}
