package main

import (
	"io"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// -store and the flags of the database name one place: a channel that was made by one is
// there by the other.
func TestRun_readsTheStoreAsTheFlagsOfTheDatabase(t *testing.T) {
	database := mongotest.StartProcess(t) // the database has the name that is the default
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	unused := filepath.Join(t.TempDir(), "unused")
	first := start(t, unused, "-mqtt-port", port, "-store", database.URI, "-db-timeout", "10s")
	first.awaitReady(t)
	first.create(t, "weather")
	require.NoError(t, first.stop())
	second := start(t, unused, "-mqtt-port", port, "-db-uri", database.URI, "-db-timeout", "10s")
	second.awaitReady(t)
	require.Eventually(t, func() bool { return second.isRunning(t, "weather") }, patience, 10*time.Millisecond)
	require.NoError(t, second.stop())
	require.NoDirExists(t, unused)
}

func TestRun_keepsChannelsInTheFolderOfItsStore(t *testing.T) {
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	dir, unused := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "unused")
	first := start(t, unused, "-mqtt-port", port, "-store", "disk:"+dir)
	first.create(t, "weather")
	require.NoError(t, first.stop())
	require.NoDirExists(t, unused)
	require.FileExists(t, filepath.Join(dir, "encryption-secret"))
	second := start(t, dir, "-mqtt-port", port)
	require.Eventually(t, func() bool { return second.isRunning(t, "weather") }, patience, 10*time.Millisecond)
	require.NoError(t, second.stop())
}

func TestRun_keepsChannelsInMemory(t *testing.T) {
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	unused := filepath.Join(t.TempDir(), "unused")
	a := start(t, unused, "-mqtt-port", port, "-store", "memory:")
	a.create(t, "weather")
	require.True(t, a.isRunning(t, "weather"))
	require.NoError(t, a.stop())
	require.NoDirExists(t, unused)
}

func TestRun_namesTheFlagOfAWrongStore(t *testing.T) {
	for _, c := range []struct{ store, want string }{
		{"here", `-store: "here" has no scheme`},
		{"s3://key:hidden@host/bucket", "-store: s3: keeps content alone"},
		{"mongodb://user:hid/den@host", "mongodb: the name of the database, behind the hosts, is not valid"},
		{"mongodb://user:hid%ZZden@host/db", "-store: mongo: Config.URI: it is not a valid connection string"},
	} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-store", c.store}, io.Discard, io.Discard)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "hid")
		require.NotContains(t, err.Error(), "den@")
	}
}
