package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// secrets are the strings of an answer that no other answer may show.
func findSecrets(made nodetest.Object) []string {
	secrets := []string{nodetest.Token}
	if private, ok := made["private_key"].(string); ok {
		secrets = append(secrets, private)
	}
	for _, link := range made["links"].([]any) {
		secrets = append(secrets, link.(nodetest.Object)["psk"].(string))
	}
	return secrets
}

func TestNode_showsNoSecretInLogsAnswersAndEvents(t *testing.T) {
	s, c := nodetest.Server(t), nodetest.Client(t)
	s.Three(true)
	made := s.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{"name":"gw-1"}`)
	secrets := append(findSecrets(made), s.Plane.Current().PrivateKey.Base64())
	require.Len(t, secrets, 6)
	made["server"] = "http://192.0.2.1:3333"
	c.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0"}`)
	c.Do(http.StatusOK, "POST", "/tunnel/attach", made)
	made["psk"] = 1
	made["private_key"] = strings.ToLower(made["private_key"].(string))
	c.Ask("POST", "/tunnel/attach", made) // which is refused, in words
	data, err := json.Marshal(made)
	require.NoError(t, err)
	c.Ask("POST", "/tunnel/attach", string(data[:len(data)-3]))
	c.Ask("POST", "/tunnel/attach", strings.Replace(string(data), `"psk":"`, `"psk":5,"x":"`, 1))
	for _, i := range []*nodetest.Instance{s, c} {
		require.NoError(t, i.Node.Health())
		for _, path := range []string{"/interfaces", "/tunnel/client/", "/tunnel/attach", "/bond", "/classes",
			"/status", "/metrics", "/healthz", "/readyz", "/openapi.json"} {
			_, text := i.Ask("GET", path, nil)
			for _, secret := range secrets {
				require.NotContains(t, text, secret, path)
			}
		}
		require.NoError(t, i.Stop())
		require.Contains(t, i.Log.String(), "path=/tunnel/client/", "requests are logged here")
		for _, secret := range secrets {
			require.NotContains(t, i.Log.String(), secret)
		}
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", i.Plane.Current(), i.Plane.Current(), i.Plane.Current().Peers), secrets[1])
	}
}

func TestNode_addClient_storesNoPrivateKey(t *testing.T) {
	i := nodetest.Server(t)
	made := i.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{"name":"gw-1"}`)
	for doc, err := range storage.All(t.Context(), i.Docs, "") {
		require.NoError(t, err)
		require.NotContains(t, string(doc.Data), made["private_key"])
	}
}

func TestNode_Run_createsFilesForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	i := nodetest.Start(t, nodetest.NewConfig(node.Server, nodetest.NewPlane("wlan0"), store.Documents()))
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	i.Do(http.StatusCreated, "POST", "/tunnel/client/add", `{}`)
	state := i.Plane.Current()
	require.NoError(t, i.Stop())
	require.NoError(t, store.Close())
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", path, info.Mode())
		return nil
	}))
	store, err = disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	require.Equal(t, state, comesUp(t, store.Documents()))
}

func TestNode_change_makesConcurrentChangesOneByOne(t *testing.T) {
	i := nodetest.Server(t)
	i.Three(true)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 10 {
				made := nodetest.Object{}
				w := i.Send("POST", "/tunnel/client/add", nodetest.Object{}, map[string]string{"Authorization": "Bearer " + nodetest.Token})
				if w.Code != http.StatusCreated || json.Unmarshal(w.Body.Bytes(), &made) != nil {
					t.Errorf("status %d: %s", w.Code, w.Body)
					return
				}
				order := [][]string{{"wlan0", "mesh0", "wwan0"}, {"wwan0", "mesh0", "wlan0"}}[n%2]
				i.Send("PUT", "/interfaces", nodetest.Object{"order": order}, map[string]string{"Authorization": "Bearer " + nodetest.Token})
				i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer " + nodetest.Token})
				if n%4 == 0 {
					i.Send("PUT", "/tunnel/client/disable", nodetest.Object{"public_key": made["public_key"]},
						map[string]string{"Authorization": "Bearer " + nodetest.Token})
				}
			}
		})
	}
	all.Wait()
	clients := i.List("/tunnel/client/")
	require.Len(t, clients, 80)
	addresses := map[any]bool{}
	for _, c := range clients {
		addresses[c["addresses"].([]any)[0]] = true
	}
	require.Len(t, addresses, 80, "no two clients have an address in common")
	require.Len(t, i.Plane.Current().Peers, 60)
	state := i.Plane.Current()
	require.NoError(t, i.Stop())
	require.Equal(t, state, comesUp(t, i.Docs))
}
