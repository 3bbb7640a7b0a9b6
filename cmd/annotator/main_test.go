package main

import (
	"bytes"
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

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/examples/weather"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// annotator is a run of the program.
type annotator struct {
	url  string
	log  *servertest.Log
	stop func() error
}

// start runs the program with its data in dir and waits for its first line.
func start(t *testing.T, dir string, args ...string) annotator {
	t.Helper()
	p := servertest.Start(t, run, append([]string{"-listen", "127.0.0.1:0", "-data", dir}, args...)...)
	return annotator{p.Listening(""), p.Log, p.Stop}
}

func (a annotator) get(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(a.url + path)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

func (a annotator) create(t *testing.T, id string) {
	t.Helper()
	topic := func(name string) map[string]any { return map[string]any{"topic": name, "brokerType": "MQTT"} }
	body, err := json.Marshal(map[string]any{
		"settings": map[string]any{"channelId": id, "inputTopicSettings": topic("in"), "outputTopicSettings": topic("out")},
		"metadata": map[string]any{"mapping": map[string]any{
			"inputFormat": "JSON", "outputFormat": "TTL", "rml": weather.JSONMapping(),
		}},
	})
	require.NoError(t, err)
	answer, err := http.Post(a.url+"/channels", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, id, string(text))
}

// isRunning reports whether the channel is listed as running.
func (a annotator) isRunning(t *testing.T, id string) bool {
	t.Helper()
	status, body := a.get(t, "/channels/"+id+"?status=true")
	require.Equal(t, http.StatusOK, status, body)
	var view struct{ Status struct{ IsStopped bool } }
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	return !view.Status.IsStopped
}

func TestRun_restoresChannels(t *testing.T) {
	dir := t.TempDir()
	port := strconv.Itoa(mqtttest.Embedded(t).Port)

	first := start(t, dir, "-mqtt-port", port)
	first.create(t, "weather")
	require.True(t, first.isRunning(t, "weather"))
	require.NoError(t, first.stop())

	second := start(t, dir, "-mqtt-port", port)
	require.Eventually(t, func() bool { return second.isRunning(t, "weather") }, patience, 10*time.Millisecond)
	require.NoError(t, second.stop())

	third := start(t, dir, "-mqtt-port", port, "-restore-stopped")
	require.False(t, third.isRunning(t, "weather"))
	require.NoError(t, third.stop())
}

func TestRun_refusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-data", dir}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-data: ")
	require.ErrorContains(t, err, "in use by another")
}

func TestRun_encryptsThePasswordsOfAnOldFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "internal", "datafolder", "testdata", "annotator"))))
	for range 2 {
		a := start(t, dir)
		status, body := a.get(t, "/channels/weather")
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, a.stop())
		require.Contains(t, a.log.String(), filepath.Join(dir, "encryption-secret"), "where the secret is")
		require.NotContains(t, a.log.String(), "decrypt")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "encryption-secret")))
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-data", dir}, io.Discard, io.Discard)
	require.ErrorContains(t, err, filepath.Join(dir, "encryption-secret"))
	require.ErrorContains(t, err, "ANNOTATOR_ENCRYPTION_AUTH_SECRET")
}

func TestRun_refusesTheFolderOfAnotherBlock(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "format.json"), []byte(`{"owner": "modelrepo", "format": 1}`), 0o600))
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-data", dir}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-data: ")
	require.ErrorContains(t, err, "it is the folder of modelrepo, and this is annotator")
}

func TestRun_warnsOfADatabaseWithoutASecret(t *testing.T) {
	for secret, warned := range map[string]bool{"": true, strings.Repeat("s", manager.SecretLength): false} {
		a := start(t, t.TempDir(), "-db-host", "127.0.0.1", "-db-port", "1", "-db-timeout", "50ms", "-encryption-auth-secret", secret)
		require.NoError(t, a.stop())
		require.Equal(t, warned, strings.Contains(a.log.String(), "stored in clear"), a.log.String())
		require.Equal(t, warned, strings.Contains(a.log.String(), "ANNOTATOR_ENCRYPTION_AUTH_SECRET"))
	}
}

func TestRun_storesNothingInStandaloneMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	a := start(t, dir, "-standalone-mode")
	status, _ := a.get(t, "/annotations")
	require.Equal(t, http.StatusNotFound, status)
	require.NoError(t, a.stop())
	require.NoDirExists(t, dir)
}

func TestRun_namesTheFlagOfATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	err = run(t.Context(), []string{"-listen", taken.Addr().String(), "-data", t.TempDir()}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "the port is taken")
	require.ErrorContains(t, err, "-listen")
}

func TestRun_logsToTheFileToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "annotator.log")
	a := start(t, t.TempDir(), "-log-to-file", "-log-file", file)
	require.NoError(t, a.stop())
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(written), "msg=starting")
	require.Equal(t, a.log.String(), string(written))
}

func TestRun_refusesPagesOfOtherOrigins(t *testing.T) {
	a := start(t, t.TempDir(), "-hosts", "annotator.example.org")
	httpapitest.CheckServer(t, a.url, "/healthz", "annotator.example.org")
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "annotator", run) }

func TestRun_refusesChannelsWithBrokersOffTheList(t *testing.T) {
	port := strconv.Itoa(mqtttest.Embedded(t).Port)
	dir := t.TempDir()
	open := start(t, dir, "-mqtt-port", port)
	open.create(t, "before")
	require.NoError(t, open.stop())

	a := start(t, dir, "-mqtt-port", port, "-broker-hosts", "mqtt.example.org")
	a.create(t, "weather") // with the broker of -mqtt-port
	require.True(t, a.isRunning(t, "weather"))
	require.NoError(t, a.stop())

	t.Setenv("ANNOTATOR_BROKER_HOSTS", "mqtt.example.org")
	b := start(t, dir)
	require.Eventually(t, func() bool {
		status, body := b.get(t, "/channels/before?status=true")
		require.Equal(t, http.StatusOK, status, "a stored channel stays")
		return strings.Contains(body, "is not a broker that channels may use") &&
			strings.Contains(body, "-broker-hosts (ANNOTATOR_BROKER_HOSTS)")
	}, patience, 10*time.Millisecond, "the first attempt at the channel says why it fails")
	require.NoError(t, b.stop())

	t.Setenv("ANNOTATOR_BROKER_HOSTS", "")
	c := start(t, dir)
	require.Eventually(t, func() bool { return c.isRunning(t, "before") && c.isRunning(t, "weather") }, patience, 10*time.Millisecond,
		"it runs again as soon as its broker is allowed")
}

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	servertest.CheckUsage(t, run, []string{"-listen", "127.0.0.1:0", "-data", t.TempDir()}, []string{"-broker-ca", "main_test.go"})
}
