package jobconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxLocal is how many layers may stay at home.
const maxLocal = 1000

// localLayers reads names and indices of layers.
func (v value) localLayers() []string {
	if !v.given() {
		return nil
	}
	var layers []string
	for _, item := range v.list(maxLocal) {
		if !item.required() {
			continue
		}
		var layer string
		if _, number := item.decoded().(json.Number); number {
			before := len(item.parser.faults)
			n := item.integer(0, maxIndex)
			if len(item.parser.faults) > before {
				continue
			}
			layer = strconv.FormatInt(n, 10)
		} else if layer = item.text(1); layer == "" {
			continue
		}
		if reason := localFault(layers, layer); reason != "" {
			item.reject(Invalid, "%s", reason)
			continue
		}
		layers = append(layers, layer)
	}
	return layers
}

// maxIndex is the greatest index of a layer.
const maxIndex = 1 << 20

// localFault says what is wrong with a local layer after others, empty if nothing is.
func localFault(before []string, layer string) string {
	switch {
	case strings.Contains(layer, ","):
		return fmt.Sprintf("%q has a comma, which separates the names that clients are sent", layer)
	case slices.Contains(before, layer):
		return fmt.Sprintf("layer %q is listed twice", layer)
	}
	return ""
}

// nonlocal says why layers of the job cannot stay at home, empty if they can, or if none
// is to.
func (c Config) nonlocal() string {
	switch {
	case len(c.LocalLayers) == 0:
	case c.Homomorphic != nil:
		return "the updates of the job are encrypted, so that the layers in them are not known"
	case c.SecAgg != nil:
		return "the updates of the job are masked as a whole, so that no layer can be left out"
	}
	return ""
}

// checkLocal is that of [Config.Check].
func (c Config) checkLocal() error {
	if len(c.LocalLayers) > maxLocal {
		return fmt.Errorf("%w: %d local layers, at most %d", ErrInvalid, len(c.LocalLayers), maxLocal)
	}
	for i, layer := range c.LocalLayers {
		if reason := localFault(c.LocalLayers[:i], layer); reason != "" || layer == "" {
			return fmt.Errorf("%w: local layer %q: %s", ErrInvalid, layer, reason)
		}
	}
	if reason := c.nonlocal(); reason != "" {
		return fmt.Errorf("%w: local layers: %s", ErrInvalid, reason)
	}
	return nil
}
