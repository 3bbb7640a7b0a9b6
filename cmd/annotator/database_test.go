package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// patch asks a channel to stop or to start.
func (a annotator) patch(t *testing.T, id string, stop bool) (int, string) {
	t.Helper()
	body := `{"isStopped": ` + strconv.FormatBool(stop) + `}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, a.url+"/channels/"+id, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

func (a annotator) isReady(t *testing.T) bool {
	t.Helper()
	status, _ := a.get(t, "/readyz")
	return status == http.StatusOK
}

// awaitReady waits until the program uses its database.
func (a annotator) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return a.isReady(t) }, patience, 10*time.Millisecond)
}

func TestRun_restoresChannelsFromADatabase(t *testing.T) {
	database := mongotest.Start(t)
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	unused := filepath.Join(t.TempDir(), "unused")
	host, dbPort, err := net.SplitHostPort(database.Address())
	require.NoError(t, err)
	t.Setenv("DB_HOST", host)
	t.Setenv("DB_PORT", dbPort)
	t.Setenv("DB_DATABASE", database.Database(t))
	t.Setenv("DB_TIMEOUT", "10s")

	first := start(t, unused, "-mqtt-port", port)
	first.awaitReady(t)
	first.create(t, "weather")
	status, body := first.get(t, "/settings")
	require.Equal(t, http.StatusOK, status)
	var view struct {
		MongoHost string
		MongoPort int
	}
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	require.Equal(t, host, view.MongoHost)
	require.Equal(t, dbPort, strconv.Itoa(view.MongoPort))
	require.NoError(t, first.stop())

	second := start(t, unused, "-mqtt-port", port)
	second.awaitReady(t)
	require.Eventually(t, func() bool { return second.isRunning(t, "weather") }, patience, 10*time.Millisecond)
	require.NoError(t, second.stop())
	require.NoDirExists(t, unused)
}

func TestRun_keepsChannelsRunningWithoutTheDatabase(t *testing.T) {
	database := mongotest.StartProcess(t)
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	a := start(t, t.TempDir(), "-mqtt-port", port, "-db-uri", database.URI, "-db-timeout", "2s")
	a.awaitReady(t)
	a.create(t, "weather")

	database.Kill()
	require.True(t, a.isRunning(t, "weather"))
	status, body := a.patch(t, "weather", true)
	require.GreaterOrEqual(t, status, 500)
	require.Contains(t, body, "the store cannot be reached")
	require.Contains(t, body, database.Address())
	status, _ = a.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)

	database.Restart()
	require.Eventually(t, func() bool {
		status, _ := a.patch(t, "weather", true)
		return status == http.StatusOK
	}, patience, 50*time.Millisecond)
	require.False(t, a.isRunning(t, "weather"))
	require.Eventually(t, func() bool { // refused until the annotator has its lease again
		status, _ := a.patch(t, "weather", false)
		return status == http.StatusOK
	}, patience, 50*time.Millisecond)
	require.True(t, a.isRunning(t, "weather"))
}

func TestRun_waitsForADatabase(t *testing.T) {
	database := mongotest.StartProcess(t)
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	args := []string{"-mqtt-port", port, "-db-uri", database.URI}
	before := start(t, t.TempDir(), append(args, "-db-timeout", "10s")...)
	before.awaitReady(t)
	before.create(t, "weather")
	require.NoError(t, before.stop())
	database.Kill()

	a := start(t, t.TempDir(), append(args, "-db-timeout", "2s")...) // each try takes that long
	require.False(t, a.isReady(t))
	status, _ := a.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body := a.get(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	a.log.Await(t, "the database cannot be used; trying again")
	require.Contains(t, a.log.String(), database.Address())

	database.Restart()
	a.awaitReady(t)
	require.Eventually(t, func() bool { return a.isRunning(t, "weather") }, patience, 10*time.Millisecond)
}

func TestRun_stopsWhileItWaitsForADatabase(t *testing.T) {
	away := peertest.ReservedAddress(t).String()
	a := start(t, t.TempDir(), "-db-uri", "mongodb://dbuser:hidden@"+away, "-db-timeout", "50ms")
	require.False(t, a.isReady(t))
	status, body := a.get(t, "/settings")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	_, body = a.get(t, "/readyz")
	require.Contains(t, body, away)
	require.NotContains(t, body, "hidden")
	require.NotContains(t, body, "dbuser")
	require.NoError(t, a.stop())
	require.NotContains(t, a.log.String(), "hidden")
}

func TestRun_ignoresADatabaseInStandaloneMode(t *testing.T) {
	t.Setenv("DB_HOST", "nowhere.example")
	a := start(t, t.TempDir(), "-standalone-mode")
	require.True(t, a.isReady(t))
	require.Contains(t, a.log.String(), "standalone mode")
	_, body := a.get(t, "/settings")
	require.Contains(t, body, `"mongoHost":"","mongoPort":0`)
}

func TestRun_refusesAWrongConnectionStringWithoutShowingIt(t *testing.T) {
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-db-uri", "mongodb://dbuser:hid%ZZden@127.0.0.1"}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-db-uri (DB_URI)")
	require.NotContains(t, err.Error(), "den@")
}

func TestRun_refusesAWrongFileOfAuthorities(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(name, []byte("nothing"), 0o600))
	for _, wrong := range []string{name, filepath.Join(t.TempDir(), "missing")} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-standalone-mode", "-broker-ca", wrong}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "-broker-ca")
		require.ErrorContains(t, err, wrong)
	}
}

func TestSettings_instanceAt_namesMachineAndPort(t *testing.T) {
	machine, err := os.Hostname()
	require.NoError(t, err)
	a := start(t, t.TempDir(), "-standalone-mode")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(a.url, "http://"))
	require.NoError(t, err)
	require.Contains(t, a.log.String(), "instance="+net.JoinHostPort(machine, port))
	b := start(t, t.TempDir(), "-standalone-mode", "-instance", "left")
	require.Contains(t, b.log.String(), "instance=left")
}
