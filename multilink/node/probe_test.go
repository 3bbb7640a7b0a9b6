package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/settings"
)

// again stops an instance and starts it over what it has stored.
func again(i *nodetest.Instance) *nodetest.Instance {
	i.T.Helper()
	require.NoError(i.T, i.Stop())
	return nodetest.Start(i.T, nodetest.NewConfig(node.Server, nodetest.NewPlane("eth0", "wlan0", "mesh0", "wwan0"), i.Docs))
}

func TestNode_changeLink_probesALinkThatBecomesMeteredLess(t *testing.T) {
	i := nodetest.Server(t)
	added := i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"203.0.113.9:51820"}`)
	require.Equal(t, nodetest.Object{"interval_ms": 10.0, "multiplier": 3.0}, added["probe"])
	require.Zero(t, i.Plane.Current().Links[0].Probe.Interval, "the plane's default, which depends on more")
	changed := i.Do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"metered":true}`)
	require.Equal(t, nodetest.Object{"interval_ms": 0.0, "multiplier": 3.0}, changed["probe"])
	require.Equal(t, settings.Probe{Multiplier: 3}, i.Plane.Current().Links[0].Probe)

	i.Do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"probe":{"interval_ms":10}}`)
	i = again(i)
	require.Equal(t, 10*time.Millisecond, i.Plane.Current().Links[0].Probe.Interval, "it was chosen")
	i.Do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"probe":{"interval_ms":0}}`)
	require.Zero(t, i.Plane.Current().Links[0].Probe.Interval)
}

// Earlier versions stored the default of links that are not metered, and kept it where a
// link became metered.
func TestOpen_takesTheDefaultIntervalOfEarlierVersionsForNoChoice(t *testing.T) {
	i := nodetest.Server(t)
	for n, name := range []string{"eth0", "wlan0"} {
		i.Do(http.StatusCreated, "POST", "/interfaces/add", nodetest.Object{"name": name, "endpoint": fmt.Sprintf("203.0.113.9:%d", n+1)})
	}
	require.NoError(t, i.Stop())
	doc, err := i.Docs.Get(t.Context(), "node")
	require.NoError(t, err)
	var head nodetest.Object
	require.NoError(t, json.Unmarshal(doc.Data, &head))
	delete(head, "chosen_probes")
	links := head["links"].([]any)
	links[0].(nodetest.Object)["probe"] = nodetest.Object{"interval_ms": 10, "multiplier": 3}
	links[1].(nodetest.Object)["probe"] = nodetest.Object{"interval_ms": 20, "multiplier": 3}
	data, err := json.Marshal(head)
	require.NoError(t, err)
	_, err = i.Docs.Update(t.Context(), "node", doc.Revision, data)
	require.NoError(t, err)

	i = again(i)
	require.Equal(t, nodetest.Object{"interval_ms": 10.0, "multiplier": 3.0}, i.List("/interfaces")[0]["probe"])
	require.Zero(t, i.Plane.Current().Links[0].Probe.Interval)
	require.Equal(t, 20*time.Millisecond, i.Plane.Current().Links[1].Probe.Interval)
	i.Do(http.StatusOK, "PATCH", "/interfaces/eth0", `{"probe":{"interval_ms":10}}`)
	require.Equal(t, 10*time.Millisecond, again(i).Plane.Current().Links[0].Probe.Interval)
}
