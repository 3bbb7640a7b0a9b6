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

// Config is what the page shows.
type Config struct {
	// Blocks returns the blocks, in the order of the page. It is called for every request,
	// from any goroutine.
	Blocks func() []Block
	// Events has what happened last.
	Events *Events
	// Steps say what to do on a platform with nothing in it.
	Steps []Step
}

// Block is a building block of the program.
type Block struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Href is the address of its page, Address where programs reach it.
	Href    string `json:"href"`
	Address string `json:"address"`
	Facts   []Fact `json:"facts"`
	// Fault says why it is not usable; empty when it is.
	Fault string `json:"fault"`
}

// Fact is a number about what a block has.
type Fact struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	// Href is the address of the page that shows what was counted.
	Href string `json:"href"`
}

// Step is one thing to try: why, where, and as a command.
type Step struct{ Text, Href, Command string }

// HandlerOptions tunes [NewHandler]. The zero value is ready for use.
type HandlerOptions struct {
	// Hosts are further names of the server, as in [httpapi.Options].
	Hosts []string
	// Authorize decides who may do what, as in [httpapi.Options]. The page is for readers.
	Authorize func(r *http.Request, role string) error
	// Logger logs requests and errors. Nil is silent.
	Logger *slog.Logger
}

// NewHandler returns the handler of the page, which may be mounted anywhere. opts may be nil.
func NewHandler(config Config, opts *HandlerOptions) http.Handler {
	if opts == nil {
		opts = &HandlerOptions{}
	}
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &page{config: config, part: shell.NewPart(shell.PartConfig{Section: "Overview", Files: own})}
	routes := append(p.part.Routes(),
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
const shown = 50

// view is the page, and what its script polls.
type view struct {
	shell.Frame `json:"-"`
	Blocks      []Block `json:"blocks"`
	Events      []Event `json:"events"`
	Steps       []Step  `json:"-"`
	Empty       bool    `json:"-"` // whether nothing was made yet
}

func (p *page) view() view {
	v := view{Blocks: append([]Block{}, p.config.Blocks()...), Events: p.config.Events.Last(shown), Steps: p.config.Steps, Empty: true}
	for _, b := range v.Blocks {
		for _, f := range b.Facts {
			v.Empty = v.Empty && f.Value == 0
		}
	}
	return v
}

func (p *page) show(w http.ResponseWriter, r *http.Request) error {
	v := p.view()
	v.Frame = p.part.Frame(r, "Overview")
	return p.part.Show(w, r, http.StatusOK, "overview.html", &v)
}

func (p *page) state(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.view())
}
