package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/bench/internal/rig"
)

// The transports that are compared: the gateway's own HTTP/1.1 client, net/http's in
// the same gateway, and net/http's in the smallest proxy of the standard library.
const (
	ownTransport     = "gateway, own client"
	netHTTPTransport = "gateway, net/http"
	reverseProxy     = "httputil.ReverseProxy"
)

// load is what wrk sends.
type load struct {
	Name        string `json:"name"`
	Connections int    `json:"connections"`
	path        string
	upload      int // bytes of the body of each request
}

func loads() []load {
	return []load{
		{Name: "GET of 28 bytes", Connections: 32, path: "/small"},
		{Name: "GET of 28 bytes", Connections: 256, path: "/small"},
		{Name: "GET of 64 KiB", Connections: 32, path: "/large"},
		{Name: "POST of 64 KiB", Connections: 32, path: "/small", upload: 64 << 10},
	}
}

// transportTrial is one measurement of a transport.
type transportTrial struct {
	Transport string  `json:"transport"`
	Load      load    `json:"load"`
	Round     int     `json:"round"`
	Machine   float64 `json:"loadAverage"`
	Rate      float64 `json:"requestsPerSecond"`
	P50       float64 `json:"p50Milliseconds"`
	P99       float64 `json:"p99Milliseconds"`
	CPU       float64 `json:"cpuMicroseconds"` // of the proxy, for each request
	Objects   float64 `json:"allocations"`     // for each request
	Bytes     float64 `json:"allocatedBytes"`  // for each request
}

// transportRecord is everything that is kept of a comparison of transports.
type transportRecord struct {
	Date     string            `json:"date"`
	Commit   string            `json:"commit"`
	Command  string            `json:"command"`
	Machine  string            `json:"machine"`
	Versions []string          `json:"versions"`
	Seconds  float64           `json:"secondsOfATrial"`
	Rounds   int               `json:"rounds"`
	Trials   []*transportTrial `json:"trials"`
}

// compareTransports measures the transports to services in turns. All proxies run in
// this process, the one that is measured alone; wrk and the service, an nginx, are
// processes of their own. So memory statistics and processor time are the proxy's.
func compareTransports(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bench/gateway transports", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often each transport runs, in turns")
	length := flags.Duration("length", 2*time.Second, "how long a trial takes")
	out := flags.String("out", filepath.Join("bench", "gateway", "transport"), "`folder` that the record is written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 1 || *length < time.Second {
		return errors.New("unexpected argument, or too few -rounds or too short a -length to measure anything")
	}
	folder, err := os.MkdirTemp("", "bench-transport-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	backend, err := startLargeBackend(ctx, folder)
	if err != nil {
		return err
	}
	defer backend.end()
	proxies, closeAll, err := startProxies(backend.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()

	r := &transportRecord{
		Date: time.Now().UTC().Format(time.RFC3339), Machine: rig.ThisMachine(ctx).String(), Seconds: length.Seconds(), Rounds: *rounds,
		Commit: rig.Commit(ctx, "apimgmt", "bench/gateway", "go.mod", "bench/go.mod"), Command: rig.Command("gateway"),
		Versions: []string{runtime.Version(), rig.PeerVersion(ctx, "nginx", "-v"), rig.PeerVersion(ctx, "wrk", "-v")},
	}
	order := []string{ownTransport, netHTTPTransport, reverseProxy}
	for round := range *rounds + 1 { // the first warms up
		for _, l := range loads() {
			script, err := l.script(folder)
			if err != nil {
				return err
			}
			for i := range order {
				name := order[(i+round)%len(order)]
				duration := *length
				if round == 0 {
					duration = time.Second
				}
				t, err := measureTransport(ctx, proxies[name]+l.path, script, l.Connections, duration)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", name, l.Name, err)
				}
				if t.Transport, t.Load, t.Round = name, l, round; round > 0 {
					r.Trials = append(r.Trials, t)
				}
			}
		}
	}
	return rig.Write(*out, rig.FileName(r.Date), r, r.markdown())
}

// startLargeBackend starts an nginx with small answers and large ones, which reads bodies to their end.
func startLargeBackend(ctx context.Context, folder string) (*running, error) {
	files := filepath.Join(folder, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(folder, 0o755); err != nil { // workers of an nginx that root starts run as another user
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(files, "large"), []byte(strings.Repeat("0123456789abcdef", 4<<10)), 0o644); err != nil {
		return nil, err
	}
	c := contender{name: "backend", command: func(s setting, listen string) ([]string, error) {
		return nginxWith(s, fmt.Sprintf("server { listen %s; client_max_body_size 1m; location = /large { root %s; }\n"+
			"location / { default_type application/json; return 200 '%s'; } }", listen, files, answer))
	}}
	return c.start(ctx, setting{folder: filepath.Join(folder, "backend")})
}

// startProxies starts the proxies and returns their addresses by name.
func startProxies(backend string) (addresses map[string]string, closeAll func() error, err error) {
	service := entity.Service{Name: "bench"}
	if err := service.SetURL("http://" + backend); err != nil {
		return nil, nil, err
	}
	keep := false
	config := entity.Config{Services: []entity.Service{service}, Routes: []entity.Route{{
		Name: "all", Paths: []string{"/"}, StripPath: &keep, Service: &entity.Ref{Name: "bench"}}}}
	addresses = map[string]string{}
	var closers []func() error
	closeAll = func() error {
		var faults []error
		for _, end := range closers {
			faults = append(faults, end())
		}
		return errors.Join(faults...)
	}
	serve := func(name string, handler http.Handler) {
		server := httptest.NewServer(handler)
		closers = append(closers, func() error { server.Close(); return nil })
		addresses[name] = server.URL
	}
	for name, standard := range map[string]bool{ownTransport: false, netHTTPTransport: true} {
		g, err := gateway.New(&gateway.Options{
			AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			Transport:      gateway.TransportOptions{NetHTTP: standard},
		})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		if err := g.Apply(config); err != nil {
			return nil, nil, errors.Join(err, g.Close(), closeAll())
		}
		serve(name, g)
		closers = append(closers, g.Close)
	}
	serve(reverseProxy, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: backend})
			r.SetXForwarded()
		},
		Transport:  &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
		BufferPool: &copyBuffers{},
		ErrorLog:   log.New(io.Discard, "", 0), // wrk leaves requests unfinished at its end
	})
	return addresses, closeAll, nil
}

// copyBuffers are what httputil.ReverseProxy copies bodies through.
type copyBuffers struct{ pool sync.Pool }

// Get implements [httputil.BufferPool].
func (b *copyBuffers) Get() []byte {
	if space, ok := b.pool.Get().(*[32 << 10]byte); ok {
		return space[:]
	}
	return make([]byte, 32<<10)
}

// Put implements [httputil.BufferPool].
func (b *copyBuffers) Put(space []byte) { b.pool.Put((*[32 << 10]byte)(space)) }

// script writes what wrk sends instead of a GET request without a body.
func (l load) script(folder string) (string, error) {
	if l.upload == 0 {
		return "", nil
	}
	file := filepath.Join(folder, "post.lua")
	text := fmt.Sprintf("wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"text/plain\"\nwrk.body = string.rep(\"x\", %d)\n", l.upload)
	return file, os.WriteFile(file, []byte(text), 0o644)
}

var p50Line = regexp.MustCompile(`50%\s+([0-9.]+(?:us|ms|s|m))`)

// measureTransport has wrk send requests for some time.
func measureTransport(ctx context.Context, address, script string, connections int, length time.Duration) (*transportTrial, error) {
	t := &transportTrial{Machine: rig.LoadAverage()}
	args := []string{"-t1", "-c", strconv.Itoa(connections), "-d", strconv.Itoa(int(length.Seconds())) + "s", "--latency"}
	if script != "" {
		args = append(args, "-s", script)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := ownProcessorTime()
	if err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, "wrk", append(args, address)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w: %s", err, text)
	}
	ended, err := ownProcessorTime()
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	var read trial
	requests, err := read.read(string(text))
	if err != nil {
		return nil, err
	}
	p50 := p50Line.FindStringSubmatch(string(text))
	if p50 == nil {
		return nil, fmt.Errorf("wrk prints no median: %s", text)
	}
	middle, err := time.ParseDuration(p50[1])
	if err != nil {
		return nil, err
	}
	t.Rate, t.P99, t.P50 = read.Rate, read.P99, float64(middle.Microseconds())/1000
	t.CPU = float64((ended - began).Microseconds()) / requests
	t.Objects = float64(after.Mallocs-before.Mallocs) / requests
	t.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / requests
	return t, nil
}

// pick are the numbers of one transport under one load.
func (r *transportRecord) pick(name string, l load, of func(*transportTrial) float64) []float64 {
	var all []float64
	for _, t := range r.Trials {
		if t.Transport == name && t.Load.Name == l.Name && t.Load.Connections == l.Connections {
			all = append(all, of(t))
		}
	}
	return all
}

// markdown is RESULTS.md of the comparison.
func (r *transportRecord) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# HTTP/1.1 to services: the gateway's own client beside net/http\n\n"+
		"Written by the benchmark; do not edit. `%s`, %s, commit %s.\n\n", r.Command, r.Date, r.Commit)
	fmt.Fprintf(&b, "- Machine: %s\n- Versions: %s\n", r.Machine, strings.Join(r.Versions, "; "))
	var averages []float64
	for _, t := range r.Trials {
		averages = append(averages, t.Machine)
	}
	fmt.Fprintf(&b, "- %d rounds of %.0f s for each transport and load, in turns that change from round to round; "+
		"medians. wrk with one thread, the proxy and\n"+
		"  the service, an nginx, share the cores and loopback. Load average before the trials: %s.\n", r.Rounds, r.Seconds, rig.Loads(averages))
	for _, l := range loads() {
		fmt.Fprintf(&b, "\n## %s, %d connections\n\n", l.Name, l.Connections)
		b.WriteString("| | requests/s | p50, ms | p99, ms | CPU, µs a request | allocations a request | bytes allocated a " +
			"request |\n|---|---:|---:|---:|---:|---:|---:|\n")
		middle := map[string][]float64{}
		for _, name := range []string{ownTransport, netHTTPTransport, reverseProxy} {
			rates := r.pick(name, l, func(t *transportTrial) float64 { return t.Rate })
			if len(rates) == 0 {
				continue
			}
			line := []float64{rig.Median(rates)}
			for _, of := range []func(*transportTrial) float64{
				func(t *transportTrial) float64 { return t.P50 }, func(t *transportTrial) float64 { return t.P99 },
				func(t *transportTrial) float64 { return t.CPU }, func(t *transportTrial) float64 { return t.Objects },
				func(t *transportTrial) float64 { return t.Bytes },
			} {
				line = append(line, rig.Median(r.pick(name, l, of)))
			}
			middle[name] = line
			fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %.1f | %.1f | %.0f |\n", name, rig.Spread(rates), line[1], line[2], line[3], line[4], line[5])
		}
		if own, standard := middle[ownTransport], middle[netHTTPTransport]; own != nil && standard != nil {
			b.WriteString("| **own client : net/http** |")
			for i := range own {
				fmt.Fprintf(&b, " %.2f |", own[i]/standard[i])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
