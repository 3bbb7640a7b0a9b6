package admin

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The sizes of pages that lists may have, as with Kong.
const (
	defaultPage = 100
	maxPage     = 1000
)

// page is a part of a list.
type page struct {
	Data   []any   `json:"data"`
	Next   *string `json:"next"`
	Offset string  `json:"offset,omitempty"`
}

// listing is the parameters of a request for a list.
type listing struct {
	size  int
	after string   // the key of the last item before; empty for the first page
	tags  []string // nil for any
	all   bool     // whether an item has to have all of the tags, or one of them
}

func readListing(r *http.Request) (listing, error) {
	query, l := r.URL.Query(), listing{size: defaultPage}
	if size := query.Get("size"); size != "" {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 || n > maxPage {
			return l, &problem{status: http.StatusBadRequest, Code: codeSize, Name: "invalid size",
				Message: "invalid size (size must be an integer between 1 and 1000)"}
		}
		l.size = n
	}
	if offset := query.Get("offset"); offset != "" {
		after, err := base64.RawURLEncoding.DecodeString(offset)
		if err != nil || len(after) == 0 {
			return l, &problem{status: http.StatusBadRequest, Code: codeOffset, Name: "invalid offset", Message: "invalid offset"}
		}
		l.after = string(after)
	}
	tags := query.Get("tags")
	switch {
	case tags == "":
	case strings.Contains(tags, "/") && strings.Contains(tags, ","):
		return l, &problem{status: http.StatusBadRequest, Code: 11, Name: "invalid options",
			Fields:  map[string]any{"tags": "invalid filter syntax"},
			Message: "invalid option (tags: invalid filter syntax)"}
	case strings.Contains(tags, "/"):
		l.tags = strings.Split(tags, "/")
	default:
		l.tags, l.all = strings.Split(tags, ","), true
	}
	return l, nil
}

func (l listing) wants(tags []string) bool {
	if l.tags == nil {
		return true
	}
	for _, tag := range l.tags {
		if has := slices.Contains(tags, tag); has != l.all {
			return has
		}
	}
	return l.all
}

// item is one of a list, with the key that it is in order by.
type item struct {
	key   string
	value any
}

// cutPage is the requested page of the items. What is created or
// deleted meanwhile moves no other item to another page.
func (l listing) cutPage(r *http.Request, items []item) page {
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	from, found := slices.BinarySearchFunc(items, l.after, func(i item, key string) int { return strings.Compare(i.key, key) })
	if found {
		from++
	}
	p := page{Data: []any{}}
	for _, i := range items[from:min(from+l.size, len(items))] {
		p.Data = append(p.Data, i.value)
	}
	if end := from + l.size; end < len(items) {
		p.Offset = base64.RawURLEncoding.EncodeToString([]byte(items[end-1].key))
		query := url.Values{"offset": {p.Offset}}
		for _, name := range []string{"size", "tags"} {
			if value := r.URL.Query().Get(name); value != "" {
				query.Set(name, value)
			}
		}
		next := r.URL.EscapedPath() + "?" + query.Encode()
		p.Next = &next
	}
	return p
}
