package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/settings"
)

// again stops an instance and starts it over what it has stored.
func (i *instance) again() *instance {
	i.t.Helper()
	require.NoError(i.t, i.stop())
	return start(i.t, configOf(node.Server, newPlane("eth0", "wlan0", "mesh0", "wwan0"), i.docs))
}

func TestNode_changeLink_probesALinkThatBecomesMeteredLess(t *testing.T) {
	i := server(t)
	added := i.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"203.0.113.9:51820"}`)
	require.Equal(t, object{"interval_ms": 10.0, "multiplier": 3.0}, added["probe"])
	require.Zero(t, i.plane.current().Links[0].Probe.Interval, "the plane's default, which depends on more")
	changed := i.do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"metered":true}`)
	require.Equal(t, object{"interval_ms": 0.0, "multiplier": 3.0}, changed["probe"])
	require.Equal(t, settings.Probe{Multiplier: 3}, i.plane.current().Links[0].Probe)

	i.do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"probe":{"interval_ms":10}}`)
	i = i.again()
	require.Equal(t, 10*time.Millisecond, i.plane.current().Links[0].Probe.Interval, "it was chosen")
	i.do(http.StatusOK, "PATCH", "/interfaces/wlan0", `{"probe":{"interval_ms":0}}`)
	require.Zero(t, i.plane.current().Links[0].Probe.Interval)
}

// Earlier versions stored the default of links that are not metered, and kept it where a
// link became metered.
func TestOpen_takesTheDefaultIntervalOfEarlierVersionsForNoChoice(t *testing.T) {
	i := server(t)
	for n, name := range []string{"eth0", "wlan0"} {
		i.do(http.StatusCreated, "POST", "/interfaces/add", object{"name": name, "endpoint": fmt.Sprintf("203.0.113.9:%d", n+1)})
	}
	require.NoError(t, i.stop())
	doc, err := i.docs.Get(t.Context(), "node")
	require.NoError(t, err)
	var head object
	require.NoError(t, json.Unmarshal(doc.Data, &head))
	delete(head, "chosen_probes")
	links := head["links"].([]any)
	links[0].(object)["probe"] = object{"interval_ms": 10, "multiplier": 3}
	links[1].(object)["probe"] = object{"interval_ms": 20, "multiplier": 3}
	data, err := json.Marshal(head)
	require.NoError(t, err)
	_, err = i.docs.Update(t.Context(), "node", doc.Revision, data)
	require.NoError(t, err)

	i = i.again()
	require.Equal(t, object{"interval_ms": 10.0, "multiplier": 3.0}, i.list("/interfaces")[0]["probe"])
	require.Zero(t, i.plane.current().Links[0].Probe.Interval)
	require.Equal(t, 20*time.Millisecond, i.plane.current().Links[1].Probe.Interval)
	i.do(http.StatusOK, "PATCH", "/interfaces/eth0", `{"probe":{"interval_ms":10}}`)
	require.Equal(t, 10*time.Millisecond, i.again().plane.current().Links[0].Probe.Interval)
}
