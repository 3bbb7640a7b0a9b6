package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// perPage is how many items a page of a list has.
const perPage = modelrepo.MaxPageSize

// listView is a page of a list, with what its items are in.
type listView struct {
	shell.Frame
	At       modelrepo.Path
	Metadata modelrepo.Metadata
	Items    []item
	Keys     []string // of the metadata of the items
	Total    int64
	Number   int // of the page, from 1
	// Damaged is how many contents of the repository are damaged.
	Damaged uint64

	// Key, Value and Descending are what the page's form selected. The key is one of the
	// metadata; without a key the value is a name.
	Key, Value string
	Descending bool
}

// item is a namespace, a model or a version in a list.
type item struct {
	At       modelrepo.Path
	Metadata modelrepo.Metadata
	// Latest is that of a model; the others are those of a version.
	Latest, Format      string
	Immutable, IsLatest bool
}

// Name returns the name of the item in what it is in.
func (i item) Name() string { return i.At.Name() }

// list returns the listing that a request selects, and the view for it.
func (p *pages) list(r *http.Request, title string, at modelrepo.Path) (*modelrepo.Listing, *listView) {
	q := r.URL.Query()
	view := &listView{
		Frame: p.part.Frame(r, title, trail(at)...), At: at, Number: 1,
		Key: strings.TrimSpace(q.Get("key")), Value: strings.TrimSpace(q.Get("value")),
		Descending: q.Get("order") == "descending",
	}
	if number, err := strconv.Atoi(q.Get("page")); err == nil && number > 1 {
		view.Number = min(number, 1<<30)
	}
	listing := &modelrepo.Listing{Page: view.Number, PageSize: perPage, Descending: view.Descending}
	switch {
	case view.Key != "":
		listing.Filters = []modelrepo.Filter{{Field: "metadata." + view.Key, Value: view.Value}}
	case view.Value != "":
		listing.Filters = []modelrepo.Filter{{Field: "name", Value: view.Value}}
	}
	return listing, view
}

func (v *listView) add(i item) {
	v.Items = append(v.Items, i)
	for key := range i.Metadata {
		if at, found := slices.BinarySearch(v.Keys, key); !found {
			v.Keys = slices.Insert(v.Keys, at, key)
		}
	}
}

// IsFiltered reports whether the form selected some of the items.
func (v *listView) IsFiltered() bool { return v.Key != "" || v.Value != "" }

// Last returns the number of the last page.
func (v *listView) Last() int64 { return max(1, (v.Total+perPage-1)/perPage) }

// First returns the query of the first page, and so on. It is empty where the view is there.
func (v *listView) First() string {
	if v.Number <= 2 {
		return ""
	}
	return v.query(1)
}

// Previous returns the query of the page before, see First.
func (v *listView) Previous() string {
	if v.Number == 1 {
		return ""
	}
	return v.query(min(int64(v.Number-1), v.Last()))
}

// Next returns the query of the page after, see First.
func (v *listView) Next() string {
	if int64(v.Number) >= v.Last() {
		return ""
	}
	return v.query(int64(v.Number) + 1)
}

func (v *listView) query(page int64) string {
	q := url.Values{}
	if page > 1 {
		q.Set("page", strconv.FormatInt(page, 10))
	}
	for name, value := range map[string]string{"key": v.Key, "value": v.Value} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if v.Descending {
		q.Set("order", "descending")
	}
	return "?" + q.Encode()
}
