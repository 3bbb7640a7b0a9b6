package report

import (
	"encoding/json"
	"math"
)

// Privacy is the privacy loss of a training with differential privacy: the guarantee of
// package dp for all models of this run so far. Runs of one job on the same data add up,
// which the server does not account for.
type Privacy struct {
	// Epsilon and Delta are the guarantee.
	Epsilon Epsilon `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Epsilon is a number from 0 on. As JSON it is a number, or the text "infinity" where
// there is no guarantee: JSON has no infinite numbers.
type Epsilon float64

// infinity is an infinite [Epsilon] as JSON.
const infinity = `"infinity"`

// MarshalJSON implements [json.Marshaler].
func (e Epsilon) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 1) {
		return []byte(infinity), nil
	}
	return json.Marshal(float64(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Epsilon) UnmarshalJSON(data []byte) error {
	if string(data) == infinity {
		*e = Epsilon(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(e))
}
