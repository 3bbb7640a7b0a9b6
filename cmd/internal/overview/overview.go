package overview

import (
	"embed"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// Config is what the page shows. All fields are required.
type Config struct {
	// Blocks returns the blocks, in the order of the page. It is called for every request,
	// from any goroutine.
	Blocks func() []Block
	// Steps are what to try, in order.
	Steps []Step
	// Events has what happened last.
	Events *Events
}

// Block is a building block of the program.
type Block struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Href is the address of its page, relative to the overview. Empty means that it has none.
	Href string `json:"href"`
	// Address is where programs reach it.
	Address string `json:"address"`
	Facts   []Fact `json:"facts"`
	// Links lead to what is there for programs, such as the description of the interface.
	Links []Link `json:"-"`
	// Fault says why it is not usable; empty when it is.
	Fault string `json:"fault"`
}

// Link is a link to something of a block.
type Link struct{ Text, Href string }

// Fact is a number about what a block has.
type Fact struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	// Href is the address of the page that shows what was counted. Empty means that there is
	// none.
	Href string `json:"href"`
}

// Step is one thing to try.
type Step struct {
	// Title says what it is, Text what comes of it.
	Title, Text string
	// Href is the address of the page where it is done, Action the words of the link.
	Href, Action string
	// Role is what the person must be allowed, such as "operator".
	Role string
	// Command does the same in a shell. Empty means that none does.
	Command string
	// Block and Fact name the fact that shows whether it was done: when its value is greater
	// than Before.
	Block, Fact string
	Before      uint64
}

// isDone reports whether the step was done already.
func (s Step) isDone(blocks []Block) bool {
	for _, b := range blocks {
		for _, f := range b.Facts {
			if b.Name == s.Block && f.Name == s.Fact {
				return f.Value > s.Before
			}
		}
	}
	return false
}

// HandlerOptions tunes [NewPage]. The zero value is ready for use.
type HandlerOptions struct {
	// Hosts are further names of the server, as in [httpapi.Options].
	Hosts []string
	// Authorize decides who may do what, as in [httpapi.Options]. The page is for readers.
	Authorize func(r *http.Request, role string) error
	// Logger logs requests and errors. Nil is silent.
	Logger *slog.Logger
}

// NewPage returns the page, which may be mounted anywhere. opts may be nil.
func NewPage(config Config, opts *HandlerOptions) http.Handler {
	if opts == nil {
		opts = &HandlerOptions{}
	}
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &page{config: config, part: shell.NewPart(shell.PartConfig{
		Section: "Overview", Files: own, Funcs: map[string]any{"blank": func() Event { return Event{Times: 1} }},
	})}
	routes := append(p.part.Routes(),
		httpapi.Route{Pattern: "GET /", Func: p.missing, Undocumented: true, Origins: httpapi.OwnPagesAndLinks},
		httpapi.Route{Pattern: "GET /{$}", Func: p.show, Undocumented: true, Origins: httpapi.OwnPagesAndLinks},
		httpapi.Route{Pattern: "GET /state", Func: p.state, Undocumented: true, Origins: httpapi.OwnPages},
	)
	return httpapi.NewHandler(routes, &httpapi.Options{Hosts: opts.Hosts, Authorize: opts.Authorize, Logger: opts.Logger})
}

type page struct {
	config Config
	part   *shell.Part
}

// shown is how many events the page has.
const shown = 30

// view is the page, and what its script polls.
type view struct {
	shell.Frame `json:"-"`
	Blocks      []Block `json:"blocks"`
	Events      []Event `json:"events"`
	// Steps are those that are not done yet.
	Steps []Step `json:"-"`
	// Begun reports whether a step was done.
	Begun bool `json:"-"`
}

// Faults returns how many blocks are not usable.
func (v *view) Faults() int {
	n := 0
	for _, b := range v.Blocks {
		if b.Fault != "" {
			n++
		}
	}
	return n
}

// view returns what the page shows to the sender of a request. The details of events are lines
// of the log, with addresses and folders of the machine in them: they are for operators.
func (p *page) view(r *http.Request) view {
	// An empty list is a list to the module too, and not null.
	v := view{Frame: p.part.Frame(r, "Overview"), Blocks: append([]Block{}, p.config.Blocks()...), Events: p.config.Events.Last(shown)}
	if !v.Can("operator") {
		for i := range v.Events {
			v.Events[i].Detail = ""
		}
	}
	for i := range v.Blocks {
		v.Blocks[i].Facts = append([]Fact{}, v.Blocks[i].Facts...)
	}
	for _, s := range p.config.Steps {
		if s.isDone(v.Blocks) {
			v.Begun = true
		} else {
			v.Steps = append(v.Steps, s)
		}
	}
	return v
}

func (p *page) show(w http.ResponseWriter, r *http.Request) error {
	v := p.view(r)
	return p.part.Show(w, r, http.StatusOK, "overview.html", &v)
}

// missing says that there is no such page, within the shell.
func (p *page) missing(w http.ResponseWriter, r *http.Request) error {
	v := struct{ shell.Frame }{p.part.Frame(r, "Not found")}
	return p.part.Show(w, r, http.StatusNotFound, "missing.html", &v)
}

func (p *page) state(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.view(r))
}
