package rest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What POST answers is the last segment of the channel's URL as it is.
func TestREST_generatedIdentifier_needsNoEscapes(t *testing.T) {
	c := newClient(t, nil)
	for _, topics := range [][2]string{
		{"sensors/in", "sensors/out"}, {"/a//b", "#"}, {"sensors/+/temperature", "żółw & co?"}, {"a b", "%2F"}, {"..", "."},
	} {
		body := channelJSON(t, "", map[string]any{
			"inputTopicSettings":  map[string]any{"topic": topics[0], "brokerType": "MQTT"},
			"outputTopicSettings": map[string]any{"topic": strings.Trim(topics[1], "#") + "out", "brokerType": "MQTT"},
		}, nil, map[string]any{"isStopped": true})
		created := c.send("POST", "/channels", body)
		require.Equal(t, 200, created.status, created.body)
		id := created.body
		require.Regexp(t, `^[A-Za-z0-9._~-]+_MQTT_MQTT_[0-9a-f-]{36}$`, id)
		require.Equal(t, 200, c.get("/channels/"+id).status)
		require.Equal(t, 200, c.get("/channels/"+id+"/mapping").status)
		c.text(c.do("DELETE", "/channels/"+id, "", ""), 200, "Stopped and removed channel with ID: "+id)
	}
}

func TestREST_identifierWithSlashes_isFoundEscapedAndAsItIs(t *testing.T) {
	c := newClient(t, nil)
	for _, id := range []string{
		"test/input_test/output_MQTT_MQTT_01234567", "/a//b", "a b/ż", "a/mapping", "x/restart", "restart", "a%2Fb/c",
	} {
		body := channelJSON(t, id, nil, nil, map[string]any{"isStopped": true})
		c.text(c.send("POST", "/channels", body), 200, id)
	}
	for _, id := range []string{"test/input_test/output_MQTT_MQTT_01234567", "/a//b", "a b/ż", "a%2Fb/c"} {
		escaped := url.PathEscape(id)
		plain := strings.ReplaceAll(escaped, "%2F", "/")
		for _, form := range []string{plain, escaped} {
			for _, path := range []string{"/channels/" + form, "/channels/" + form + "/"} {
				c.json(c.get(path+"?status"), `{"status":{"isStopped":true}}`)
				c.text(c.send("PATCH", path, `{"isStopped":true}`), 200, "No updates were made to channel status for channel with ID: "+id)
			}
			require.Contains(t, c.get("/channels/"+form+"/mapping").body, `"rml"`)
			mapping := c.get("/channels/" + form + "/mapping").body
			c.text(c.send("PUT", "/channels/"+form+"/mapping", mapping), 200, "Replaced mapping of channel with ID: "+id)
			c.text(c.do("PATCH", "/channels/"+form+"/restart", "", ""), 200, "Restarted channel with ID: "+id)
			c.text(c.send("PATCH", "/channels/"+form, `{"isStopped":true}`), 200, "Updated settings and stopped channel with ID: "+id)
		}
		c.text(c.do("DELETE", "/channels/"+plain, "", ""), 200, "Stopped and removed channel with ID: "+id)
	}
	// A path that ends with the name of a part is that part, of a channel that
	// may not be there.
	c.text(c.get("/channels/a/mapping"), 404, "Channel ID not found: No channel with ID: a")
	c.text(c.get("/channels/b/a/mapping"), 404, "Channel ID not found: No channel with ID: b/a")
	require.Equal(t, 405, c.get("/channels/x/restart").status)
	for _, id := range []string{"a%2Fmapping", "x%2Frestart", "restart"} {
		require.Equal(t, 200, c.get("/channels/"+id).status, id)
	}
	require.Equal(t, 200, c.get("/channels/x%2Frestart/mapping").status)
}
