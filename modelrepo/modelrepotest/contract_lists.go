package modelrepotest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// listed returns the names of the items of a page, and the size of the set.
func (c *client) listed(path string) (names []string, total int) {
	c.t.Helper()
	type set struct {
		Items []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"items"`
		TotalCount int `json:"totalCount"`
	}
	var body struct{ Namespaces, Models, Versions *set }
	require.NoError(c.t, json.Unmarshal([]byte(c.get(path).has(200).body), &body))
	for _, s := range []*set{body.Namespaces, body.Models, body.Versions} {
		if s == nil {
			continue
		}
		for _, item := range s.Items {
			names = append(names, item.Name+item.Version)
		}
		total += s.TotalCount
	}
	return names, total
}

// lists checks which items a page has.
func (c *client) lists(path string, total int, names ...string) {
	c.t.Helper()
	got, size := c.listed(path)
	require.Equal(c.t, names, got, path)
	require.Equal(c.t, total, size, path)
}

// level is a list with its parent, its field of the name and its pointer.
type level struct{ parent, name, pointer string }

var levels = []level{{"", "namespace", ""}, {"/w3c", "model", "latestVersion"}, {"/w3c/sosa", "version", "defaultFormat"}}

// fill creates ten items below each of the levels' parents: p0 to p9.
func fill(c *client) {
	c.do("POST", "/w3c", "").has(200)
	c.do("POST", "/w3c/sosa", "").has(200)
	for _, l := range levels {
		for i := range 10 {
			pointer := ""
			if l.pointer != "" && i%2 == 0 {
				pointer = fmt.Sprintf(`"%s":"v%d",`, l.pointer, i/4)
			}
			second := ""
			if i < 8 {
				second = fmt.Sprintf(`,"rank":"%d"`, 9-i)
			}
			c.json("POST", fmt.Sprintf("%s/p_%d", l.parent, i),
				fmt.Sprintf(`{%s"metadata":{"mark":"1","test":["%d","%d"]%s}}`, pointer, i%5, i%4+10, second)).has(200)
		}
	}
}

func filters(c *client) {
	fill(c)
	for _, l := range levels {
		path := l.parent + "/?"
		c.lists(path+"f.metadata.test=3", 2, "p_3", "p_8")
		c.lists(path+"f.metadata.test=3&f.metadata.test=13", 1, "p_3")
		c.lists(path+"f.metadata.test=0&f."+l.name+"=p_5", 1, "p_5")
		c.lists(path+"f.metadata.test=1&f."+l.name+"=p_5", 0)
		c.lists(path+"f."+l.name+"=p_5", 1, "p_5")
		c.lists(path+"f."+l.name+"=p_5&f."+l.name+"=p_6", 0)
		c.lists(path+"f."+l.name+"=absent", 0)
		c.lists(path+"f.metadata.mark=1&page_size=3&page=4", 10, "p_9")
		c.lists(path+"f.metadata.mark=1&page_size=3&page=5", 10)
		c.lists(path+"f.metadata.mark=1&page=2147483648&page_size=50", 10)
		c.lists(path+"f.metadata.test=3&order=descending", 2, "p_8", "p_3")
		c.lists(path+"f.metadata.mark=", 0)
		c.lists(path+"f.metadata.absent=1", 0)
		c.lists(path+"f.metadata.test=%22", 0)
		if l.pointer != "" {
			c.lists(path+"f."+l.pointer+"=v1", 2, "p_4", "p_6")
			c.lists(path+"f."+l.pointer+"=v1&f.metadata.test=1", 1, "p_6")
		}
	}
	c.json("PATCH", "/w3c/p_3", `{"metadata":{"test":"other","quote":"\"<\\ü"}}`).has(200)
	c.lists("/w3c?f.metadata.test=3", 1, "p_8")
	c.lists("/w3c?f.metadata.test=other", 1, "p_3")
	c.lists("/w3c?f.metadata.quote=%22%3C%5C%C3%BC", 1, "p_3")
	c.do("DELETE", "/w3c/p_8", "").has(200)
	c.lists("/w3c?f.metadata.test=3", 0)
	c.get("/w3c?f.metadata.test=3").is(`{"name":"w3c","models":{"items":[],"totalCount":0,"page":1,"pageSize":20}}`)
}

func orders(c *client) {
	fill(c)
	all := []string{"p_0", "p_1", "p_2", "p_3", "p_4", "p_5", "p_6", "p_7", "p_8", "p_9"}
	for _, l := range levels {
		path := l.parent + "/?page_size=50&"
		ascending, total := c.listed(path + "order=ascending")
		names := slices.DeleteFunc(slices.Clone(ascending), func(n string) bool { return !strings.HasPrefix(n, "p_") })
		require.Equal(c.t, all, names)
		down := slices.Clone(ascending)
		slices.Reverse(down)
		c.lists(path+"order=descending", total, down...)
		for _, by := range []string{l.name, "name"} {
			if l.name == "version" && by == "name" {
				continue
			}
			c.lists(path+"sort_by="+by, total, ascending...)
			c.lists(path+"sort_by="+by+"&order=descending", total, down...)
		}
		for page := 1; (page-1)*3 < len(down); page++ {
			c.lists(fmt.Sprintf("%s/?page_size=3&page=%d&order=descending", l.parent, page), total,
				down[(page-1)*3:min(page*3, len(down))]...)
		}
		// Those without come first; names decide between equals.
		const marked = "f.metadata.mark=1&"
		byRank := []string{"p_8", "p_9", "p_7", "p_6", "p_5", "p_4", "p_3", "p_2", "p_1", "p_0"}
		c.lists(path+marked+"sort_by=metadata.rank", 10, byRank...)
		c.lists(l.parent+"/?page=2&page_size=4&sort_by=metadata.rank&"+marked, 10, byRank[4:8]...)
		slices.Reverse(byRank)
		c.lists(path+marked+"sort_by=metadata.rank&order=descending", 10, byRank...)
		c.lists(path+marked+"sort_by=metadata.test", 10, "p_0", "p_5", "p_1", "p_6", "p_2", "p_7", "p_3", "p_8", "p_4", "p_9")
		if l.pointer != "" {
			c.lists(path+marked+"sort_by="+l.pointer+"&order=descending", 10, "p_8", "p_6", "p_4", "p_2", "p_0", "p_9", "p_7",
				"p_5", "p_3", "p_1")
		}
	}
}

func listingFaults(c *client) {
	fill(c)
	for _, l := range levels {
		for _, key := range []string{"", "test", "metadata", "metadata.", "metadata.test.test", "dummy.test", "formats",
			"metadata.%C3%A4"} {
			shown := strings.ReplaceAll(key, "%C3%A4", "ä")
			c.get(l.parent+"/?f."+key+"=1").refuses(400, "Invalid filtering key 'f."+shown+"'.")
			c.get(l.parent+"/?sort_by="+key).refuses(400, "Invalid sorting key '"+shown+"'")
		}
		for _, order := range []string{"", "blah", "ASCENDING", "desc"} {
			c.get(l.parent+"/?order="+order).refuses(400, "Sort order must be ")
		}
		c.get(l.parent+"/?f."+l.name+"=").fails(400, "Invalid value of the filter 'f."+l.name+"'.")
		c.get(l.parent+"/?f."+l.name+"=../x").fails(400, "Invalid value of the filter 'f."+l.name+"'.")
		c.get(l.parent+"/?f.metadata.k="+strings.Repeat("x", 1025)).fails(400, "Invalid value of the filter 'f.metadata.k'.")
		if l.pointer != "" {
			c.get(l.parent+"/?f."+l.pointer+"=").fails(400, "Invalid value of the filter 'f."+l.pointer+"'.")
			c.get("/?f."+l.pointer+"=v1").refuses(400, "Invalid filtering key ")
		}
		c.get(l.parent+"/?"+strings.Repeat("f.metadata.k=1&", 33)).fails(400, "Too many filters: 33, the most is 32.")
	}
	c.get("/w3c/absent?sort_by=blah").refuses(400, "Invalid sorting key ")
	c.get("/w3c/absent?sort_by=version").fails(404, "Model 'w3c/absent' not found.")
}
