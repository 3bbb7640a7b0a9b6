package console

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
)

//go:embed assets page.html
var files embed.FS

// Config is what the page shows. Services and Channels are called for every
// request, from any goroutine.
type Config struct {
	// Services returns the services of the process.
	Services func() []Service
	// Channels returns the channels in the order in which they are shown.
	Channels func() []Channel
	// Guide has commands to try, in order.
	Guide []Step
}

// HandlerOptions tunes [NewHandler]. The zero value is ready for use.
type HandlerOptions struct {
	// Hosts are further names of the server, as in [httpapi.Options].
	Hosts []string
	// Authorize decides who may do what, as in [httpapi.Options]. The page and the state
	// are for readers.
	Authorize func(r *http.Request, role string) error
	// Logger logs requests and errors. Nil is silent.
	Logger *slog.Logger
}

// Service is a service of the process.
type Service struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Address is the URL at which it listens.
	Address string `json:"address"`
	Links   []Link `json:"links"`
	Facts   []Fact `json:"facts"`
	// Fault says why the service is not usable; empty when it is.
	Fault string `json:"fault"`
}

// Link is a link to a page of a service.
type Link struct {
	Text string `json:"text"`
	Href string `json:"href"`
}

// Fact is a number about a service.
type Fact struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// Channel is a row of the table.
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Href leads to everything about the channel.
	Href string `json:"href"`
	// From and To are the formats, Input and Output the topics.
	From   string `json:"from"`
	To     string `json:"to"`
	Input  string `json:"input"`
	Output string `json:"output"`
	State  State  `json:"state"`
	// Fault says why the channel does not run, or what it waits for.
	Fault string `json:"fault"`
	// LastFailure is about the newest message that could not be annotated.
	LastFailure string `json:"lastFailure"`
	Received    uint64 `json:"received"`
	Published   uint64 `json:"published"`
	Failed      uint64 `json:"failed"`
}

// State is what a channel does.
type State string

// The states of channels.
const (
	Running State = "running"
	Stopped State = "stopped"
	Waiting State = "waiting" // it runs, and a broker is away
	Failed  State = "failed"  // it is stopped and should not be
)

// Step is one thing to try: why, and the command line.
type Step struct{ Text, Command string }

// NewHandler returns the handler of the page at /, of its icon at /favicon.ico, and of
// its assets and the state that it polls, which are below /console/. opts may be nil.
func NewHandler(config Config, opts *HandlerOptions) http.Handler {
	if opts == nil {
		opts = &HandlerOptions{}
	}
	p := &page{config: config, template: template.Must(template.New("page.html").Funcs(template.FuncMap{
		"count": count,
		"blank": func() Channel { return Channel{State: Stopped} },
	}).ParseFS(files, "page.html"))}
	return httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /{$}", Func: p.show, Undocumented: true},
		{Pattern: "GET /console/state", Func: p.state, Undocumented: true},
		{Pattern: "GET /console/assets/{name}", Func: assets().Serve, Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /favicon.ico", Func: httpapi.Icon, Role: httpapi.Public, Undocumented: true},
	}, &httpapi.Options{Hosts: opts.Hosts, Authorize: opts.Authorize, Logger: opts.Logger})
}

type page struct {
	config   Config
	template *template.Template
}

// view is the data of the page, which it also polls.
type view struct {
	Services []Service `json:"services"`
	Channels []Channel `json:"channels"`
	At       int64     `json:"at"` // milliseconds, for the rates
	Guide    []Step    `json:"-"`
}

func (p *page) view() view {
	// An empty list is a list to the module too, and not null.
	return view{
		Services: append([]Service{}, p.config.Services()...),
		Channels: append([]Channel{}, p.config.Channels()...),
		At:       time.Now().UnixMilli(),
		Guide:    p.config.Guide,
	}
}

func (p *page) show(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WritePage(w, http.StatusOK, p.template, "", p.view(), httpapi.ReadOnlyPage())
}

func (p *page) state(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.view())
}

// assets are the files that the page loads.
func assets() httpapi.Assets {
	return httpapi.Assets{
		"look.css": {Files: look.Files}, "icon.svg": {Files: look.Files},
		"console.css": {Files: files, Path: "assets/console.css"}, "console.js": {Files: files, Path: "assets/console.js"},
	}
}

// count writes a number with a comma before every three digits.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}
