package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
)

// Config configures a [Follower]. ControlPlane and File are required.
type Config struct {
	// ControlPlane is the address of the control plane's Admin API, http or https.
	ControlPlane string
	// Token is shown there; it is to have the role "admin". Empty shows none.
	Token string
	// File keeps the last configuration, with its secrets. Its folder exists.
	File string
	// Interval is the mean interval between two requests to the control plane: pauses differ by up to a
	// tenth. Zero means 2 seconds.
	Interval time.Duration
	// HTTPClient sends the requests. Nil means one of its own.
	HTTPClient *http.Client
	// Logger receives changes, failures and refused configurations. Nil is silent.
	Logger *slog.Logger
}

// fetchTime is the longest time that an answer of the control plane may take.
const fetchTime = 30 * time.Second

// Follower has a gateway serve the configuration of its control plane. Make one with [New]. It is
// safe for concurrent use.
type Follower struct {
	config  Config
	source  *source
	gateway *gateway.Gateway
	desc    [4]*prometheus.Desc

	mu     sync.Mutex
	secret string
	state  State
	seen   string // tag of what was fetched last, served or refused
	tag    string // of what is served
	data   []byte // likewise
	normal entity.Normal
	saved  time.Time // what the file says of when the configuration was current
}

// State is the state of a [Follower].
type State struct {
	// Serving reports whether there is a configuration at all.
	Serving bool
	// Current is the time at which the control plane last said that the configuration is the one to serve.
	// Zero means never.
	Current time.Time
	// Unreachable is why the control plane did not answer when it was last asked; nil if it did.
	Unreachable error
	// Refused is why the configuration that the control plane now has is not served; nil if it is.
	Refused error
}

// errNotAsked is the state before the first request.
var errNotAsked = errors.New("follow: the control plane was not asked yet")

// String says in a line how it does.
func (s State) String() string {
	text := "ready"
	if !s.Serving {
		text = "no configuration yet"
	}
	if !s.Current.IsZero() {
		text += ", configuration of " + s.Current.UTC().Format(time.RFC3339)
	}
	if s.Refused != nil {
		text += fmt.Sprintf("; a newer one is not served: %v", s.Refused)
	}
	if s.Unreachable != nil {
		text += "; the control plane does not answer"
	}
	return text
}

// New returns a follower. It reads nothing yet. Errors name the field.
func New(config Config) (*Follower, error) {
	switch {
	case config.File == "":
		return nil, errors.New("follow: Config.File: is required")
	case config.Interval < 0:
		return nil, fmt.Errorf("follow: Config.Interval: %v is negative", config.Interval)
	}
	source, err := newSource(config)
	if err != nil {
		return nil, err
	}
	config.Interval = cmp.Or(config.Interval, 2*time.Second)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Follower{config: config, source: source, state: State{Unreachable: errNotAsked}, desc: [4]*prometheus.Desc{
		prometheus.NewDesc("gateway_control_plane_up", "1 if the control plane answered when it was last asked.", nil, nil),
		prometheus.NewDesc("gateway_config_age_seconds",
			"Seconds since the control plane said that what is served is its configuration.", nil, nil),
		prometheus.NewDesc("gateway_config_refused", "1 if the control plane has a configuration that this gateway cannot serve.", nil, nil),
		prometheus.NewDesc("gateway_config_serving", "1 if there is a configuration to serve.", nil, nil),
	}}, nil
}

// Secret returns the secret of the control plane's gateways, empty before there is one. It is
// for plugin.Options of the gateway.
func (f *Follower) Secret() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.secret
}

// Start has a gateway serve what the file has, if there is one. A file that is damaged, and one
// that the gateway does not take, are logged: there is nothing to serve until the control plane
// answers.
func (f *Follower) Start(g *gateway.Gateway) {
	f.mu.Lock()
	f.gateway = g
	f.mu.Unlock()
	k, err := readFile(f.config.File)
	if err == nil {
		err = f.serve(k.data, k.Tag)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		f.config.Logger.Error("the configuration that was kept is not served", "error", err)
	default:
		f.mu.Lock()
		f.state.Current, f.saved = k.Current, k.Current
		f.mu.Unlock()
		f.config.Logger.Info("the configuration that was kept is served", "of", k.Current)
	}
}

// take serves what the control plane has sent, unless that is nothing where there was a
// configuration: its store is then empty, and probably not the one it was.
func (f *Follower) take(data []byte, tag string) error {
	f.mu.Lock()
	serves := f.tag
	f.mu.Unlock()
	if tag == admin.NothingStored && serves != "" && serves != tag {
		return errors.New("the store of the control plane has no configuration: is its -store the right one? " +
			"To serve nothing, stop this gateway and remove its file")
	}
	return f.serve(data, tag)
}

// serve serves a configuration in place of the one before.
func (f *Follower) serve(data []byte, tag string) error {
	read, err := decode(data)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before, secret := f.normal, f.secret
	f.secret = read.Secret // plugins that are created ask for it
	f.mu.Unlock()
	next, err := before.With(read.Config)
	if err == nil {
		err = f.gateway.Load(next)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.secret = secret
		return err
	}
	f.normal = next
	f.tag = tag
	f.data = data
	f.state.Serving = true
	f.seen, f.saved = tag, time.Time{}
	return nil
}

// Run follows the control plane until the context ends; it returns nil then. [Follower.Start]
// was called before.
func (f *Follower) Run(ctx context.Context) error {
	for {
		f.ask(ctx)
		// A part of it is random, so that gateways that were started together do not ask together.
		pause := time.NewTimer(f.config.Interval*9/10 + rand.N(f.config.Interval/5+1))
		select {
		case <-ctx.Done():
			pause.Stop()
			f.save(0)
			return nil
		case <-pause.C:
		}
	}
}

// ask asks the control plane once.
func (f *Follower) ask(ctx context.Context) {
	f.mu.Lock()
	known, before := f.seen, f.state
	f.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, fetchTime)
	data, tag, err := f.source.fetch(bounded, known)
	cancel()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		f.note(func(s *State) { s.Unreachable = err })
		if before.Unreachable == nil || errors.Is(before.Unreachable, errNotAsked) {
			f.config.Logger.Warn("the control plane does not answer; what is there is served on", "at", f.config.ControlPlane, "error", err)
		}
		return
	}
	if before.Unreachable != nil && !errors.Is(before.Unreachable, errNotAsked) {
		f.config.Logger.Info("the control plane answers again", "at", f.config.ControlPlane)
	}
	if data == nil { // it is what was fetched before
		f.note(func(s *State) {
			s.Unreachable = nil
			if s.Refused == nil {
				s.Current = time.Now()
			}
		})
		f.save(saveEvery)
		return
	}
	if err := f.take(data, tag); err != nil {
		f.note(func(s *State) { s.Unreachable, s.Refused = nil, err })
		f.mu.Lock()
		f.seen = tag // it is not worth another try
		f.mu.Unlock()
		f.config.Logger.Error("the control plane's configuration cannot be served; the one before is served on", "error", err)
		return
	}
	f.note(func(s *State) {
		s.Unreachable = nil
		s.Refused = nil
		s.Current = time.Now()
	})
	f.config.Logger.Info("a new configuration is served", "tag", tag)
	f.save(0)
}

func (f *Follower) note(change func(*State)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.state)
}

// saveEvery is how often the file gets the time at which its configuration was last the current one.
const saveEvery = 10 * time.Minute

// save writes the file, if what it says is older than a while.
func (f *Follower) save(older time.Duration) {
	f.mu.Lock()
	k := kept{label: label{Tag: f.tag, Current: f.state.Current}, data: f.data}
	due := f.state.Serving && f.state.Refused == nil && k.Current.Sub(f.saved) > older
	f.mu.Unlock()
	if !due {
		return
	}
	if err := writeFile(f.config.File, k); err != nil {
		f.config.Logger.Error("the configuration is served, and not kept: a restart needs the control plane",
			"file", f.config.File, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = k.Current
}

// State returns how the follower does.
func (f *Follower) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Describe implements prometheus.Collector.
func (f *Follower) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range f.desc {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (f *Follower) Collect(out chan<- prometheus.Metric) {
	s := f.State()
	gauge := func(i int, value float64) {
		out <- prometheus.MustNewConstMetric(f.desc[i], prometheus.GaugeValue, value)
	}
	one := func(is bool) float64 { return map[bool]float64{true: 1}[is] }
	gauge(0, one(s.Unreachable == nil && !s.Current.IsZero()))
	if !s.Current.IsZero() {
		gauge(1, time.Since(s.Current).Seconds())
	}
	gauge(2, one(s.Refused != nil))
	gauge(3, one(s.Serving))
}
