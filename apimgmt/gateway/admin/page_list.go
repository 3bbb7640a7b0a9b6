package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// perPage is the number of entities that a page of a list has.
const perPage = 100

// listed is an entity in a list.
type listed struct {
	ID, Label, Owner string
	Enabled          bool
	Cells            []cell
}

type cell struct{ Label, Text string }

// listView is a page of a list.
type listView struct {
	frame
	Kind, Plural string
	Rows         []listed
	Query        string
	Total        int // entities that match
	Page, Last   int
	// Previous and Next lead to the pages beside it. Empty means that there is none.
	Previous, Next string
	// Hint describes the purpose of the kind on an empty list.
	Hint string
}

func (p *pages) list(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		config, err := p.loadConfig(r.Context())
		if err != nil {
			return err
		}
		v := listView{frame: p.frame(r, upper(t.plural), t.plural, gatewayCrumb()), Kind: string(t.kind), Plural: t.plural, Hint: purpose(t.kind)}
		v.Query = strings.TrimSpace(r.URL.Query().Get("q"))
		from, words := newLister(config), strings.Fields(strings.ToLower(v.Query))
		var rows []listed
		for e := range t.rows(config) {
			if l := from.describeRow(e); l.matches(words) {
				rows = append(rows, l)
			}
		}
		slices.SortStableFunc(rows, func(a, b listed) int { return cmp.Compare(a.Label, b.Label) })
		v.Total, v.Last = len(rows), max((len(rows)+perPage-1)/perPage, 1)
		page, err := strconv.Atoi(r.URL.Query().Get("page"))
		if err != nil {
			page = 1
		}
		v.Page = min(max(page, 1), v.Last)
		v.Rows = rows[(v.Page-1)*perPage : min(v.Page*perPage, len(rows))]
		if v.Page > 1 {
			v.Previous = query(v.Query, v.Page-1)
		}
		if v.Page < v.Last {
			v.Next = query(v.Query, v.Page+1)
		}
		return p.part.Show(w, r, http.StatusOK, "list.html", &v)
	}
}

// matches reports whether the row has all of the words, which are in lower case.
func (l listed) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := []string{l.ID, l.Label, l.Owner}
	for _, c := range l.Cells {
		texts = append(texts, c.Text)
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// lister creates rows of lists. It knows the names of what entities refer to.
type lister struct {
	labels  map[string]string // by id
	keys    map[string]int    // of consumers, by id
	targets map[string][]*entity.Target
}

func newLister(config *entity.Config) *lister {
	made := &lister{labels: map[string]string{}, keys: map[string]int{}, targets: groupTargets(config)}
	for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer} {
		for e := range tableFor(kind).rows(config) {
			made.labels[e.meta().ID] = e.label()
		}
	}
	for i := range config.Keys {
		if owner := config.Keys[i].Consumer; owner != nil {
			made.keys[owner.ID]++
		}
	}
	return made
}

// name is the label of an entity that is referred to.
func (of *lister) name(ref *entity.Ref) string {
	if ref == nil {
		return ""
	}
	return of.labels[ref.ID]
}

// describeRow is an entity as lists show it.
func (of *lister) describeRow(e row) listed {
	l := listed{ID: e.meta().ID, Label: e.label(), Enabled: true}
	for _, tag := range e.meta().Tags {
		if strings.Contains(tag, ":") && l.Owner == "" {
			l.Owner = tag
		}
	}
	switch e := e.entity.(type) {
	case *entity.Service:
		l.Enabled = *e.Enabled
		l.Cells = []cell{{"Address", serviceURL(e)}}
	case *entity.Route:
		l.Cells = []cell{{"Service", of.name(e.Service)}, {"Methods", strings.Join(e.Methods, " ")},
			{"Matches", strings.Join(slices.Concat(e.Hosts, e.Paths), "  ")}}
	case *entity.Plugin:
		l.Enabled = *e.Enabled
		on := []string{}
		for _, one := range []struct {
			kind entity.Kind
			ref  *entity.Ref
		}{{entity.KindService, e.Service}, {entity.KindRoute, e.Route}, {entity.KindConsumer, e.Consumer}} {
			if name := of.name(one.ref); name != "" {
				on = append(on, string(one.kind)+" "+name)
			}
		}
		if len(on) == 0 {
			on = []string{"everything"}
		}
		l.Cells = []cell{{"Kind", e.Name}, {"On", strings.Join(on, ", ")}}
	case *entity.Consumer:
		l.Cells = []cell{{"Custom ID", e.CustomID}, {"Keys", strconv.Itoa(of.keys[e.ID])}}
	case *entity.Upstream:
		targets := []string{}
		for _, t := range of.targets[e.ID] {
			targets = append(targets, t.Target)
		}
		l.Cells = []cell{{"Algorithm", e.Algorithm}, {"Targets", strings.Join(targets, "  ")}}
	}
	return l
}

// purpose describes the purpose of a kind.
func purpose(kind entity.Kind) string {
	switch kind {
	case entity.KindService:
		return "A service is an API behind the gateway: its address. Publishing an API in the portal creates one."
	case entity.KindRoute:
		return "A route says which requests go to a service: by path, method and host."
	case entity.KindPlugin:
		return "A plugin is a step that requests pass: a key, a limit, a change."
	case entity.KindConsumer:
		return "A consumer is a caller. It gets keys for APIs that the plugin key-auth protects."
	}
	return "An upstream is a name for several targets, whose health the gateway can watch."
}
