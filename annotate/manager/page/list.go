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

// stateWarning is the state of a channel that runs and publishes what is probably not intended.
const stateWarning manager.State = "warning"

// row is a channel in the list, and what its row and page poll.
type row struct {
	ID    string        `json:"id"`
	Name  string        `json:"name"`
	State manager.State `json:"state"`
	Fault string        `json:"fault"`
	// Warning is the reason of a warning about one of the newest messages.
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

// counts are those of a channel in this process.
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
	Lag       *int64 `json:"lag"` // nil where the broker does not report it
	// LastFailure is about the newest message that could not be annotated.
	LastFailure     string    `json:"lastFailure"`
	LastFailureTime string    `json:"lastFailureTime"` // RFC 3339, empty without one
	LastFailureAt   time.Time `json:"-"`
}

// newRow returns the row of a channel without its warning and counts.
func newRow(c manager.Channel) row {
	return row{
		ID:     c.ID,
		Name:   cmp.Or(c.Metadata.Name, c.ID),
		Input:  c.Input.Name,
		Output: c.Output.Name,
		From:   string(c.Mapping.InputFormat),
		To:     string(c.Mapping.OutputFormat),
		State:  c.Status.State(),
		Fault:  c.Status.Error,
		Retry:  c.Status.Retrying,
	}
}

// withWarning adds the warning about the newest messages.
func (r row) withWarning(w annotate.Warning) row {
	if w.Reason == "" || r.State != manager.StateRunning {
		return r
	}
	r.State = stateWarning
	r.Warning = w.Reason
	r.WarningTime = w.Time.UTC().Format(timeForm)
	r.WarningAt = w.Time
	return r
}

// is reports whether the channel is in a state. One with a warning runs.
func (r row) is(state manager.State) bool {
	return r.State == state || (state == manager.StateRunning && r.State == stateWarning)
}

// withCounts adds the counts of the channel.
func (r row) withCounts(s annotate.Stats) row {
	r.Counts = counts{
		Received: s.Received, Published: s.Published, Failed: s.Failed,
		Empty: s.Empty, Unmatched: s.Unmatched, IllTyped: s.IllTyped, Irregular: s.IrregularRows,
		Invalid: s.Invalid, Warned: s.Warned, LastFailure: s.LastError, Lag: s.Lag,
	}
	if !s.LastErrorTime.IsZero() {
		r.Counts.LastFailureTime = s.LastErrorTime.UTC().Format(timeForm)
		r.Counts.LastFailureAt = s.LastErrorTime
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
	State manager.State
	// Next and After are identifiers: the page begins after After, the next one after Next.
	After, Next string
}

// rows returns the page that a query of the list selects. It reads the counts of the channels
// of the page only.
func (p *pages) rows(r *http.Request) page {
	q := r.URL.Query()
	list := page{Query: strings.TrimSpace(q.Get("q")), State: manager.State(q.Get("state")), After: q.Get("after")}
	for c := range p.manager.All() {
		one := newRow(c)
		if !one.matches(list.Query) {
			continue
		}
		if list.State != "" && !one.withWarning(p.manager.Activity(c.ID).Warning()).is(list.State) {
			continue
		}
		list.Total++
		switch {
		case list.After != "" && c.ID <= list.After:
		case len(list.Rows) < perPage:
			list.Rows = append(list.Rows, p.row(c))
		case list.Next == "":
			list.Next = list.Rows[perPage-1].ID
		}
	}
	return list
}

// matches reports whether the names and topics of the channel contain all words.
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
		States []manager.State
		Fault  string
		Empty  bool // whether there are no channels
	}{
		Frame:  p.part.Frame(r, "Channels"),
		page:   p.rows(r),
		States: []manager.State{manager.StateRunning, stateWarning, manager.StateWaiting, manager.StateFailed, manager.StateStopped},
	}
	view.Empty = view.Total == 0 && view.Query == "" && view.State == ""
	if err := p.manager.Err(); err != nil {
		view.Fault = sentence(err)
	}
	return p.part.Show(w, r, http.StatusOK, "list.html", &view)
}

// states returns the rows of the list to its script.
func (p *pages) states(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, append([]row{}, p.rows(r).Rows...))
}

// history returns the plots of all channels, or of one.
func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.manager.Plot(q.Get("channel"), q.Get("range")))
}
