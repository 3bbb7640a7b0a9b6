package stores_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// settings are those of the arguments. -data is not given unless they have it.
func settings(t *testing.T, args ...string) *stores.Settings {
	t.Helper()
	t.Chdir(t.TempDir())
	f := server.NewFlags("things", "THINGS", "")
	s := stores.Declare(f, stores.Texts{Data: "data"}, drivers.All()...)
	require.NoError(t, f.Parse(args))
	require.NoError(t, s.Check())
	return s
}

func open(t *testing.T, args ...string) *stores.Stores {
	t.Helper()
	all, err := settings(t, args...).Open(t.Context(), stores.Config{Owner: datafolder.ModelRepo, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, all.Close()) })
	return all
}

func TestDatabaseName_readsThePath(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://host": "modelrepo", "mongodb://host/": "modelrepo", "mongodb://a:1,b:2/models?replicaSet=rs0": "models",
		"mongodb+srv://u:p%2Fq@host/models": "models", "mongodb://host?tls=true": "modelrepo", "mongodb://host/m%C3%A9": "mé",
	} {
		got, err := stores.DatabaseName(uri, "modelrepo")
		require.NoError(t, err, uri)
		require.Equal(t, want, got, uri)
	}
}

func TestSettings_Open_saysWhereFilesOfTheServerAre(t *testing.T) {
	for _, c := range []struct {
		args      []string
		dir, work string
		shared    bool
	}{
		{nil, "data", "data", false},
		{[]string{"-data", "mine"}, "mine", "mine", false},
		{[]string{"-store", "disk:there"}, "there", "there", false},
		{[]string{"-store", "disk:there", "-data", "mine"}, "there", "mine", false},
		{[]string{"-store", "memory:"}, "", "data", false},
		{[]string{"-store", "mongodb://127.0.0.1:1/x"}, "data", "data", true},
		{[]string{"-store", "memory:", "-blobs", "mongodb://127.0.0.1:1/x"}, "", "data", false},
	} {
		all := open(t, c.args...)
		require.Equal(t, c.dir, all.Dir, c.args)
		require.Equal(t, c.work, all.Work, c.args)
		require.Equal(t, c.shared, all.Shared, c.args)
		require.Equal(t, c.dir != "" && !c.shared, all.Folder() != nil, c.args)
	}
}

func TestSettings_Open_warnsOfRecordsThatAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		store string
		warns bool
	}{{"memory:", false}, {"", false}, {"memory:", true}, {"mongodb://127.0.0.1:1/x", true}, {"disk:" + dir, false}} {
		var log bytes.Buffer
		all, err := settings(t, "-data", dir, "-store", c.store).Open(t.Context(),
			stores.Config{Owner: datafolder.ModelRepo, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, all.Close())
		require.Equal(t, c.warns, strings.Contains(log.String(), "has records that this server does not use"), c.store)
	}
}

func TestStores_OpenWork_reservesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	first := open(t, "-store", "memory:", "-data", dir)
	require.NoError(t, first.OpenWork())
	second := open(t, "-store", "memory:", "-data", dir)
	require.ErrorContains(t, second.OpenWork(), "in use by another server")
	require.NoError(t, first.Close())
	require.NoError(t, open(t, "-store", "memory:", "-data", dir).OpenWork())
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

// ask returns the status of a path, and the body.
func ask(t *testing.T, listener net.Listener, path string) (int, string) {
	t.Helper()
	answer, err := http.Get("http://" + listener.Addr().String() + path)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(body)
}

func TestStores_Wait_answersUntilTheServerIsThere(t *testing.T) {
	database := mongotest.StartProcess(t)
	database.Kill()
	var log bytes.Buffer
	all, err := settings(t, "-store", database.URI+"/late", "-store-timeout", "2s").Open(t.Context(),
		stores.Config{Owner: datafolder.FLCollector, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer func() { require.NoError(t, all.Close()) }()
	var listener net.Listener
	listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := listener
	announced, waited := make(chan struct{}), make(chan error, 1)
	go func() {
		waited <- all.Wait(t.Context(), stores.Waiting{Listeners: []*net.Listener{&listener}, Announce: func() { close(announced) }})
	}()
	<-announced
	status, body := ask(t, at, "/healthz")
	require.Equal(t, http.StatusOK, status, body)
	status, body = ask(t, at, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, database.Address())
	status, body = ask(t, at, "/anything")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"error":"The storage cannot be reached. Please try again."}`, body)
	database.Restart()
	require.NoError(t, <-waited)
	require.Contains(t, log.String(), "the store answers")

	// The listener goes on, with the connections that come meanwhile.
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })}
	go func() { _ = web.Serve(listener) }() // ends with Close
	_, body = ask(t, at, "/anything")
	require.Equal(t, "served", body)
	require.NoError(t, web.Close())
	_, err = at.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "to close it closes the listener below")
}

func TestStores_Wait_refusesTheDatabaseOfANewerVersion(t *testing.T) {
	database := mongotest.Start(t)
	all := open(t, "-store", database.URI+"/"+database.Database(t), "-store-timeout", "10s")
	_, err := all.Documents.Create(t.Context(), "owner/modelrepo", []byte(`{"owner":"modelrepo","format":99}`))
	require.NoError(t, err)
	err = all.Wait(t.Context(), stores.Waiting{})
	require.ErrorIs(t, err, datafolder.ErrMarked)
	require.ErrorContains(t, err, "a newer version of modelrepo wrote format 99")
	require.ErrorContains(t, err, database.Address())
}
