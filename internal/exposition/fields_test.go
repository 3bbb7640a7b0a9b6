package exposition_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/exposition"
)

// stats has a metric of each form.
type stats struct {
	Received uint64        `json:"received" metric:"received_total" help:"Messages that were received."`
	Wait     time.Duration `metric:"wait_seconds" help:"Time of the oldest message in the queue."`
	Ratio    float64       `metric:"loss_ratio" help:"Messages that were lost."`
	Lag      *int64        `metric:"lag_messages" help:"Messages that wait at the broker."`
	Fault    string        `metric:"faulty" help:"1 while there is a fault."`
	Took     spread        `metric:"duration_seconds" help:"Time per message."`
	Ignored  int

	Jobs  map[string]int  `metric:"jobs" label:"state" help:"Jobs by state."`
	Links map[string]link `metric:"link_" label:"link"`

	common
}

type common struct {
	Ready bool `metric:"ready" help:"1 while the server is ready."`
}

type link struct {
	Up    bool `metric:"up" help:"1 while the link is up."`
	Bytes struct {
		Sent int `metric:"sent_bytes_total" help:"Bytes that were sent."`
	}
	Peers map[string]bool `metric:"peer_connected" label:"peer" help:"1 while the peer is connected."`
}

// spread is a histogram.
type spread []float64

func (s spread) Cumulative() (uint64, float64, map[float64]uint64) {
	return uint64(len(s)), s[0], map[float64]uint64{1: 2}
}

func TestCollector_readsTheTagsOfFields(t *testing.T) {
	current := stats{Received: 3, Wait: 1500 * time.Millisecond, Ratio: 0.25, Fault: "full", Took: spread{0.5, 1, 2},
		Jobs: map[string]int{"training": 2}, Links: map[string]link{"wlan0": {Up: true, Peers: map[string]bool{"a": true}}, "eth0": {}},
		common: common{Ready: true}}
	handler := exposition.Handler(exposition.Collector("room_", func() stats { return current }))
	read := func() string {
		w := httptest.NewRecorder()
		require.NoError(t, handler(w, httptest.NewRequest("GET", "/metrics", nil)))
		return strings.Join(regexp.MustCompile(`(?m)^(# \w+ )?room_.*\n`).FindAllString(w.Body.String(), -1), "")
	}
	require.Equal(t, `# HELP room_duration_seconds Time per message.
# TYPE room_duration_seconds histogram
room_duration_seconds_bucket{le="1"} 2
room_duration_seconds_bucket{le="+Inf"} 3
room_duration_seconds_sum 0.5
room_duration_seconds_count 3
# HELP room_faulty 1 while there is a fault.
# TYPE room_faulty gauge
room_faulty 1
# HELP room_jobs Jobs by state.
# TYPE room_jobs gauge
room_jobs{state="training"} 2
# HELP room_link_peer_connected 1 while the peer is connected.
# TYPE room_link_peer_connected gauge
room_link_peer_connected{link="wlan0",peer="a"} 1
# HELP room_link_sent_bytes_total Bytes that were sent.
# TYPE room_link_sent_bytes_total counter
room_link_sent_bytes_total{link="eth0"} 0
room_link_sent_bytes_total{link="wlan0"} 0
# HELP room_link_up 1 while the link is up.
# TYPE room_link_up gauge
room_link_up{link="eth0"} 0
room_link_up{link="wlan0"} 1
# HELP room_loss_ratio Messages that were lost.
# TYPE room_loss_ratio gauge
room_loss_ratio 0.25
# HELP room_ready 1 while the server is ready.
# TYPE room_ready gauge
room_ready 1
# HELP room_received_total Messages that were received.
# TYPE room_received_total counter
room_received_total 3
# HELP room_wait_seconds Time of the oldest message in the queue.
# TYPE room_wait_seconds gauge
room_wait_seconds 1.5
`, read())
	lag := int64(7)
	current.Lag = &lag
	require.Contains(t, read(), "room_lag_messages 7\n")
}

func TestCollector_refusesWrongTags(t *testing.T) {
	refuses[struct{ Received int }](t, "no fields")
	refuses[int](t, "must be a struct")
	refuses[struct {
		Received int `metric:"received_total"`
	}](t, "Received must have the tags metric and help")
	refuses[struct {
		received int `metric:"received_total" help:"Messages."`
	}](t, "received must be exported")
	refuses[struct {
		Names []string `metric:"names" help:"Names."`
	}](t, "Names must be a number or a histogram, got []string")
	refuses[struct {
		Jobs map[int]int `metric:"jobs" label:"state" help:"Jobs."`
	}](t, "Jobs with the tag label must be a map from texts, got map[int]int")
	refuses[struct {
		Sent, Received int `metric:"messages_total" help:"Messages."`
	}](t, "two fields with the metric")
}

// refuses checks that a type has wrong tags.
func refuses[T any](t *testing.T, reason string) {
	t.Helper()
	defer func() { require.Contains(t, recover(), reason) }()
	exposition.Collector("room_", func() T { panic("read") })
	require.Fail(t, "the tags were accepted")
}
