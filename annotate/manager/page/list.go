package page

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// channelState is what a channel does, in the words of its pages.
type channelState string

// The states of channels.
const (
	running channelState = "running"
	stopped channelState = "stopped"
	waiting channelState = "waiting" // it runs, and a broker is away
	warning channelState = "warning" // it runs, and what it publishes is probably not what is meant
	failed  channelState = "failed"  // it should run, and does not
)

// row is a channel in the list, and what its row and page poll.
type row struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	State channelState `json:"state"`
	Fault string       `json:"fault"`
	// Warning is what was noticed about one of the newest messages.
	Warning     string    `json:"warning"`
	WarningTime string    `json:"warningTime"` // RFC 3339, empty without one
	WarningAt   time.Time `json:"-"`
	HasWarned   bool      `json:"hasWarned"` // whether messages with warnings are kept
	From        string    `json:"from"`
	To          string    `json:"to"`
	Input       string    `json:"input"`
	Output      string    `json:"output"`
	Retry       bool      `json:"retrying"`
	Counts      counts    `json:"counts"`
}

// counts are those of a channel since this process has it.
type counts struct {
	Received  uint64 `json:"received"`
	Published uint64 `json:"published"`
	Failed    uint64 `json:"failed"`
	Empty     uint64 `json:"empty"`
	Unmatched uint64 `json:"unmatched"`
	Invalid   uint64 `json:"invalid"`
	Warned    uint64 `json:"warned"`
	IllTyped  uint64 `json:"illTyped"`
	Irregular uint64 `json:"irregular"`
	Lag       *int64 `json:"lag"` // nil where the broker does not say
	// LastFailure is about the newest message that could not be annotated.
	LastFailure     string    `json:"lastFailure"`
	LastFailureTime string    `json:"lastFailureTime"` // RFC 3339, empty without one
	LastFailureAt   time.Time `json:"-"`
}

// rowOf returns the row of a channel, without what was noticed about its messages and without
// its counts.
func rowOf(c manager.Channel) row {
	s := c.Status
	r := row{ID: c.ID, Name: cmp.Or(c.Metadata.Name, c.ID), Input: c.Input.Name, Output: c.Output.Name,
		From: string(c.Mapping.InputFormat), To: string(c.Mapping.OutputFormat),
		State: running, Fault: s.Error, Retry: s.Retrying}
	switch {
	case s.Stopped && s.Error != "":
		r.State = failed
	case s.Stopped:
		r.State = stopped
	case s.Error != "":
		r.State = waiting
	}
	return r
}

// withWarning adds what was noticed about the newest messages.
func (r row) withWarning(w annotate.Warning) row {
	if w.Reason == "" || r.State != running {
		return r
	}
	r.State, r.Warning, r.WarningTime, r.WarningAt = warning, w.Reason, w.Time.UTC().Format(timeForm), w.Time
	return r
}

// is reports whether the channel is in a state. One with a warning runs.
func (r row) is(state channelState) bool {
	return r.State == state || state == running && r.State == warning
}

// withCounts adds the counts of the channel.
func (r row) withCounts(s annotate.Stats) row {
	r.Counts = counts{
		Received: s.Received, Published: s.Published, Failed: s.Failed,
		Empty: s.Empty, Unmatched: s.Unmatched, IllTyped: s.IllTyped, Irregular: s.IrregularRows,
		Invalid: s.Invalid, Warned: s.Warned, LastFailure: s.LastError, Lag: s.Lag,
	}
	if !s.LastErrorTime.IsZero() {
		r.Counts.LastFailureTime, r.Counts.LastFailureAt = s.LastErrorTime.UTC().Format(timeForm), s.LastErrorTime
	}
	return r
}

const timeForm = "2006-01-02T15:04:05Z07:00"

// perPage is how many channels a page of the list has.
const perPage = 100

// page is one page of the list of channels.
type page struct {
	Rows  []row
	Total int // channels that match
	Query string
	State string
	// Next and After are identifiers: the page begins behind After, the next one behind Next.
	After, Next string
}

// rows returns the page that a query of the list selects. Only the channels of the page are
// asked for their counts.
func (p *pages) rows(r *http.Request) page {
	q := r.URL.Query()
	made := page{Query: strings.TrimSpace(q.Get("q")), State: q.Get("state"), After: q.Get("after")}
	for _, c := range p.manager.List() {
		one := rowOf(c)
		if !one.matches(made.Query) || made.State != "" && !one.withWarning(p.manager.Activity(c.ID).Warning()).is(channelState(made.State)) {
			continue
		}
		made.Total++
		switch {
		case c.ID <= made.After && made.After != "":
		case len(made.Rows) < perPage:
			made.Rows = append(made.Rows, p.row(c))
		case made.Next == "":
			made.Next = made.Rows[perPage-1].ID
		}
	}
	return made
}

// matches reports whether a name or a topic of the channel has the words.
func (r row) matches(words string) bool {
	if words == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{r.ID, r.Name, r.Input, r.Output}, "\n"))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(word string) bool { return !strings.Contains(text, word) })
}

func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	view := struct {
		shell.Frame
		page
		States []channelState
		Fault  string
		Empty  bool // whether there is no channel at all
	}{Frame: p.part.Frame(r, "Channels"), page: p.rows(r), States: []channelState{running, warning, waiting, failed, stopped}}
	view.Empty = view.Total == 0 && view.Query == "" && view.State == ""
	if err := p.manager.Err(); err != nil {
		view.Fault = sentence(err)
	}
	return p.part.Show(w, r, http.StatusOK, "list.html", &view)
}

// states answers with the rows of the list, for its script.
func (p *pages) states(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	made := p.rows(r)
	return httpapi.WriteJSON(w, append([]row{}, made.Rows...))
}

// history answers with the plots of all channels, or of one.
func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.manager.Plot(q.Get("channel"), q.Get("range")))
}
