package kong

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node describes a Kong.
type node struct {
	major, minor int
	dbless       bool
	plugins      []string
}

// node reads the version of Kong.
func (g *Gateway) node(ctx context.Context) (node, error) {
	var answer struct {
		Version string `json:"version"`
		Plugins struct {
			Available json.RawMessage `json:"available_on_server"`
		} `json:"plugins"`
		Configuration struct {
			Database string `json:"database"`
		} `json:"configuration"`
	}
	const do = "ask for the version"
	if err := g.client.make(ctx, call{do: do, method: "GET", path: "/", answer: &answer}); err != nil {
		return node{}, err
	}
	n := node{dbless: answer.Configuration.Database == "off"}
	// "3.4.1", and "2.8.4.1-enterprise-edition"
	parts := strings.SplitN(answer.Version, ".", 3)
	var err error
	if n.major, err = strconv.Atoi(parts[0]); err == nil && len(parts) > 1 {
		digits := strings.IndexFunc(parts[1]+"-", func(r rune) bool { return r < '0' || r > '9' })
		n.minor, err = strconv.Atoi(parts[1][:digits])
	}
	if err != nil || n.major < 2 {
		return node{}, fmt.Errorf("%s: %w: version %q must be 2 or later", do, ErrAnswer, answer.Version)
	}
	var available map[string]json.RawMessage
	if json.Unmarshal(answer.Plugins.Available, &available) == nil && len(available) > 0 {
		n.plugins = slices.Sorted(maps.Keys(available))
	}
	return n, nil
}

// old reports whether paths are in the style of Kong 2.
func (n node) old() bool { return n.major < 3 }

// instances reports whether plugins have names of instances, since Kong 3.2.
func (n node) instances() bool { return n.major > 3 || (n.major == 3 && n.minor >= 2) }
