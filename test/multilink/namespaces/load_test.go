package namespaces

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// iperf runs iperf3 across the bonded network and returns the bits a second of
// every interval, after the first of them.
func (p *pair) iperf(d, interval time.Duration, args ...string) []float64 {
	program, err := exec.LookPath("iperf3")
	require.NoError(p.t, err)
	ctx, cancel := context.WithTimeout(p.t.Context(), d+2*time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, program, "-s", "-1", "-B", serverAddress.String())
	require.NoError(p.t, p.lab.In(netlab.Server, server.Start))
	defer func() {
		_ = server.Process.Kill() // it ends by itself after the one run
		_ = server.Wait()
	}()
	require.Eventually(p.t, func() bool { return p.listens(5201) }, time.Minute, 20*time.Millisecond)
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	client := exec.CommandContext(ctx, program, append([]string{"-c", serverAddress.String(), "-J", "-t", seconds(d),
		"-i", seconds(interval)}, args...)...)
	var output []byte
	require.NoError(p.t, p.lab.In(netlab.Client, func() (err error) {
		output, err = client.Output()
		return err
	}), "%s", output)
	var report struct {
		Intervals []struct {
			Sum struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum"`
		} `json:"intervals"`
	}
	require.NoError(p.t, json.Unmarshal(output, &report))
	var rates []float64
	for _, i := range report.Intervals {
		rates = append(rates, i.Sum.Rate)
	}
	require.Greater(p.t, len(rates), 1, "%s", output)
	return rates[1:]
}

// listens reports whether somebody on the server's host listens on a port of
// TCP, without disturbing it.
func (p *pair) listens(port int) bool {
	var table []byte
	require.NoError(p.t, p.lab.In(netlab.Server, func() (err error) {
		table, err = os.ReadFile("/proc/thread-self/net/tcp")
		return err
	}))
	want := ":" + strings.ToUpper(strconv.FormatInt(int64(port), 16)) + " 00000000:0000 0A"
	return strings.Contains(string(table), want)
}

// failovers counts those of both ends.
func (p *pair) failovers() int {
	type peer struct {
		Counters struct {
			Failovers int `json:"failovers"`
		} `json:"counters"`
	}
	var server struct {
		Clients []peer `json:"clients"`
	}
	p.server.do("GET", "/status", nil, &server)
	require.Len(p.t, server.Clients, 1)
	var client struct {
		Attachment struct {
			Peer *peer `json:"peer"`
		} `json:"attachment"`
	}
	p.client.do("GET", "/status", nil, &client)
	require.NotNil(p.t, client.Attachment.Peer)
	return server.Clients[0].Counters.Failovers + client.Attachment.Peer.Counters.Failovers
}

func TestInstance_keepsItsLinksOnABusyMachine(t *testing.T) {
	d := 60 * time.Second
	if testing.Short() {
		d = 5 * time.Second
	}
	p := connect(t)
	before := p.failovers()
	// What iperf3 and the tunnels leave of the cores is taken by this.
	for range 2 {
		busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		require.NoError(t, busy.Start())
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	rates := p.iperf(d, time.Second)
	total := 0.0
	for _, rate := range rates {
		total += rate
	}
	t.Logf("%.0f Mbit/s while every core was busy", total/float64(len(rates))/1e6)
	require.Equal(t, before, p.failovers(), "a link was left that nothing was wrong with")
	require.Equal(t, links[0].name, p.client.active())
}

func TestInstance_failover_keepsTheRateOfTCP(t *testing.T) {
	p := connect(t)
	before := p.failovers()
	cut := make(chan error, 1)
	timer := time.AfterFunc(3*time.Second, func() { cut <- p.lab.Cut(links[0].name) })
	defer timer.Stop()
	rates := p.iperf(6*time.Second, 500*time.Millisecond, "-b", "100M")
	require.NoError(t, <-cut)
	require.Greater(t, p.failovers(), before)
	t.Logf("Mbit/s in each half second: %.0f", scaled(rates, 1e-6))
	total := 0.0
	for _, rate := range rates[:len(rates)-1] { // the last interval is a short one
		require.Greater(t, rate, 20e6, "half a second in which next to nothing was carried")
		total += rate
	}
	require.Greater(t, total/float64(len(rates)-1), 90e6)
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

func TestInstance_carriesWholeFramesOfALAN(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	// 1,472 bytes of UDP fill a frame of 1,514, which no link carries in one piece.
	for _, size := range []int{1300, 1400, 1472} {
		pinged := p.during(netlab.Ping{Interval: time.Millisecond, Size: size}, conn, func() { wait(t, 200*time.Millisecond) })
		require.Zero(t, pinged.Lost, "packets of %d bytes", size)
	}
	var mtu int
	require.NoError(t, p.lab.In(netlab.Client, func() error {
		tap, err := net.InterfaceByName("tap0")
		if err == nil {
			mtu = tap.MTU
		}
		return err
	}))
	require.Equal(t, 1500, mtu)
}

func TestInstance_removesEverythingAtTheEnd(t *testing.T) {
	p := connect(t)
	p.client.Stop()
	var interfaces []net.Interface
	require.NoError(t, p.lab.In(netlab.Client, func() (err error) {
		interfaces, err = net.Interfaces()
		return err
	}))
	require.Len(t, interfaces, 1+len(links))
	for _, i := range interfaces {
		require.NotEqual(t, "tap0", i.Name)
	}
}
