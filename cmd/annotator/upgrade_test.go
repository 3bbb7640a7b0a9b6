package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder unowned is of a version that wrote passwords in clear and no format.json.
func TestRun_opensAFolderOfAnEarlierVersion(t *testing.T) {
	for _, version := range []string{"undivided", "unowned"} {
		t.Run(version, func(t *testing.T) {
			tap := newTap(t, mqtttest.Embedded(t).String())
			folder := upgrade.Folder(t, version+"/annotator", `"port":18830`, `"port":`+tap.port)
			for range 2 { // the second time on what the first one has written
				p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
				for _, channel := range []string{"weather", "signed-in"} {
					require.Eventually(t, func() bool {
						state := upgrade.Call(t, http.StatusOK, http.MethodGet, p.URLs[0]+"/channels/"+channel+"?status=true", "", "")
						return strings.Contains(state, `"isStopped":false`)
					}, patience, 10*time.Millisecond, channel)
				}
				upgrade.Compare(t, upgrade.Comparison{Record: version + "/annotator", URL: p.URLs[0],
					Replacements: []string{`"port":` + tap.port, `"port":18830`}})
				require.True(t, tap.saw("made-up-user"))
				require.True(t, tap.saw("made-up-password"), "the broker gets the password in clear")
				for _, isStopped := range []string{"false", "true"} {
					upgrade.Call(t, http.StatusOK, http.MethodPatch, p.URLs[0]+"/channels/stopped", "", `{"isStopped": `+isStopped+`}`)
				}
				p.Stop()
			}
			upgrade.RequireOwner(t, folder, "annotator")
			require.FileExists(t, filepath.Join(folder, "encryption-secret"))
		})
	}
}

// tap passes connections on to a broker, and remembers what is sent there.
type tap struct {
	port string

	mu   sync.Mutex
	sent bytes.Buffer
}

func newTap(t *testing.T, broker string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var passing sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		passing.Wait()
	})
	a := &tap{port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}
	passing.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", broker)
			if err != nil {
				_ = client.Close()
				continue
			}
			pass := func(to, from net.Conn, before io.Writer) {
				_, _ = io.Copy(io.MultiWriter(before, to), from) // until one side closes
				_, _ = to.Close(), from.Close()
			}
			passing.Go(func() { pass(server, client, a) })
			passing.Go(func() { pass(client, server, io.Discard) })
		}
	})
	return a
}

// Write remembers what a client sent.
func (a *tap) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent.Write(p)
}

// saw reports whether a client sent the text.
func (a *tap) saw(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Contains(a.sent.Bytes(), []byte(text))
}

func TestRun_keepsWhatANewerVersionStored(t *testing.T) {
	folder := upgrade.Folder(t, "undivided/annotator")
	places := []string{"channels/stopped"}
	for _, object := range []string{"settings", "settings/inputTopicSettings", "settings/outputTopicSettings/mqttSettings",
		"settings/errorTopicSettings/kafkaSettings", "metadata", "metadata/mapping", "status"} {
		places = append(places, "channels/stopped#"+object)
	}
	upgrade.AddNewer(t, folder, places...)
	before := upgrade.Document(t, folder, "channels/stopped")
	p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
	channel := p.URLs[0] + "/channels/stopped"
	upgrade.Call(t, http.StatusOK, http.MethodPatch, channel, "", `{"errorTopicEnabled": false}`)
	p.Stop()
	upgrade.RequireNewer(t, folder, places...)
	require.NotEqual(t, before, upgrade.Document(t, folder, "channels/stopped"))

	p = upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
	channel = p.URLs[0] + "/channels/stopped"
	mapping := upgrade.Call(t, http.StatusOK, http.MethodGet, channel+"/mapping", "", "")
	upgrade.Call(t, http.StatusOK, http.MethodPut, channel+"/mapping", "", strings.Replace(mapping, "Observation", "Sample", 1))
	p.Stop()
	require.Equal(t, len(places)-1, upgrade.CountNewer(upgrade.Document(t, folder, "channels/stopped")),
		"of a mapping that was replaced nothing stays")
}

func TestRun_refusesTheFolderOfAnother(t *testing.T) {
	upgrade.Refuses(t, run, "annotator", "modelrepo", "-listen", "127.0.0.1:0")
}
