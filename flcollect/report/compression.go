package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Compression counts the updates that clients compressed in one way.
type Compression struct {
	// Kind is "float16", "int8" or "topk".
	Kind string `json:"kind"`
	// Updates is how many updates came so. Bytes is what their parameters had when they
	// were received, and Whole what the model had that these clients were sent.
	Updates int   `json:"updates"`
	Bytes   int64 `json:"bytes"`
	Whole   int64 `json:"whole_bytes"`
}

// addCompressions returns the sum of compressions, in the order of their kinds.
func addCompressions(sum, more []Compression) []Compression {
	if len(more) == 0 {
		return sum
	}
	sum = slices.Clone(sum)
	for _, c := range more {
		at, found := slices.BinarySearchFunc(sum, c, func(a, b Compression) int { return cmp.Compare(a.Kind, b.Kind) })
		if !found {
			sum = slices.Insert(sum, at, Compression{Kind: c.Kind})
		}
		sum[at].Updates += c.Updates
		sum[at].Bytes += c.Bytes
		sum[at].Whole += c.Whole
	}
	return sum
}

// String returns a text such as "3 as int8, 2612 of 10480 bytes".
func (c Compression) String() string {
	return fmt.Sprintf("%d as %s, %d of %d bytes", c.Updates, c.Kind, c.Bytes, c.Whole)
}

// notable returns compressions without those that count as conversions as well.
func notable(list []Compression) (kept []Compression, updates int) {
	for _, c := range list {
		if c.Kind != "float16" {
			kept, updates = append(kept, c), updates+c.Updates
		}
	}
	return kept, updates
}

// compressionsText returns compressions as one text.
func compressionsText(list []Compression) string {
	kinds := make([]string, len(list))
	for i, c := range list {
		kinds[i] = c.String()
	}
	return strings.Join(kinds, ", ")
}
