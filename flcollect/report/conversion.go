package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Conversion counts the layers, and the updates, that were converted from one type to
// that of the layer in the job's model.
type Conversion struct {
	// From and To are types as NumPy names them, such as "float64" and "float32".
	From string `json:"from"`
	To   string `json:"to"`
	// Updates is how many updates had such layers, Layers how many layers there
	// were in all of them together.
	Updates int `json:"updates"`
	Layers  int `json:"layers"`
}

// AddConversions returns the sum of conversions, in the order of their types.
func AddConversions(sum, more []Conversion) []Conversion {
	if len(more) == 0 {
		return sum
	}
	sum = slices.Clone(sum)
	for _, c := range more {
		at, found := slices.BinarySearchFunc(sum, c, func(a, b Conversion) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
		if !found {
			sum = slices.Insert(sum, at, Conversion{From: c.From, To: c.To})
		}
		sum[at].Updates += c.Updates
		sum[at].Layers += c.Layers
	}
	return sum
}

// String returns a text such as "float64 to float32 in 4 layers".
func (c Conversion) String() string {
	if c.Layers == 1 {
		return fmt.Sprintf("%s to %s in 1 layer", c.From, c.To)
	}
	return fmt.Sprintf("%s to %s in %d layers", c.From, c.To, c.Layers)
}
