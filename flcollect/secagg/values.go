package secagg

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Record is the name of the ConfigRecord in which Flower's clients expect the
// values of a request, and put those of their answer.
const Record = "secaggplus_configs"

// Values are the named values of one ConfigRecord: int64, uint64, float64,
// string, []byte, []int64, []uint64 or [][]byte. Identifiers of clients are sent
// as []uint64; in answers they may also be an []int64 without negative numbers.
// An empty list may be of any type. Values that were handed over must not be
// changed.
type Values map[string]any

// Stage is a stage of the protocol, by its name in requests.
type Stage string

// The stages, in their order.
const (
	StageSetup   Stage = "setup"
	StageShare   Stage = "share_keys"
	StageCollect Stage = "collect_masked_vectors"
	StageUnmask  Stage = "unmask"
)

// The names of values.
const (
	nameStage        = "stage"
	nameSamples      = "sample_num"
	nameShares       = "share_num"
	nameThreshold    = "threshold"
	nameClipping     = "clipping_range"
	nameTarget       = "target_range"
	nameModulus      = "mod_range"
	nameMaxWeight    = "max_weight"
	nameMaskKey      = "pk1" // of pair masks
	nameCipherKey    = "pk2" // of the encryption of shares
	nameDestinations = "dsts"
	nameCiphertexts  = "ctxts"
	nameSources      = "srcs"
	nameMasked       = "masked_params"
	nameActive       = "active_nids"
	nameDead         = "dead_nids"
	nameOwners       = "nids"
	nameOwnersShares = "shares"
)

var errAbsent = errors.New("is missing")

// blob returns bytes, of which there may be at most limit.
func (v Values) blob(name string, limit int) ([]byte, error) {
	switch b := v[name].(type) {
	case nil:
		return nil, fmt.Errorf("value %q: %w", name, errAbsent)
	case []byte:
		if len(b) > limit {
			return nil, fmt.Errorf("value %q: %d bytes; %d are allowed", name, len(b), limit)
		}
		return b, nil
	default:
		return nil, fmt.Errorf("value %q: is a %T; bytes are needed", name, b)
	}
}

// blobs returns a list of bytes.
func (v Values) blobs(name string) ([][]byte, error) {
	switch list := v[name].(type) {
	case nil:
		return nil, fmt.Errorf("value %q: %w", name, errAbsent)
	case [][]byte:
		return list, nil
	default:
		if emptyList(list) {
			return nil, nil
		}
		return nil, fmt.Errorf("value %q: is a %T; a list of bytes is needed", name, list)
	}
}

// clients returns a list of identifiers.
func (v Values) clients(name string) ([]uint64, error) {
	switch list := v[name].(type) {
	case nil:
		return nil, fmt.Errorf("value %q: %w", name, errAbsent)
	case []uint64:
		return list, nil
	case []int64:
		ids := make([]uint64, len(list))
		for i, id := range list {
			if id < 0 {
				return nil, fmt.Errorf("value %q: %d is no client's identifier", name, id)
			}
			ids[i] = uint64(id)
		}
		return ids, nil
	default:
		if emptyList(list) {
			return nil, nil
		}
		return nil, fmt.Errorf("value %q: is a %T; a list of integers is needed", name, list)
	}
}

// emptyList reports whether a value is a list without elements, of which a
// ConfigRecord does not keep the type.
func emptyList(value any) bool {
	switch list := value.(type) {
	case []int64:
		return len(list) == 0
	case []uint64:
		return len(list) == 0
	case []float64:
		return len(list) == 0
	case []bool:
		return len(list) == 0
	case []string:
		return len(list) == 0
	case [][]byte:
		return len(list) == 0
	case []any:
		return len(list) == 0
	}
	return false
}

// pairs returns two lists of one length, as a client sends them.
func (v Values) pairs(names, blobs string) ([]uint64, [][]byte, error) {
	ids, err := v.clients(names)
	if err != nil {
		return nil, nil, err
	}
	list, err := v.blobs(blobs)
	if err != nil {
		return nil, nil, err
	}
	if len(ids) != len(list) {
		return nil, nil, fmt.Errorf("values %q and %q: have %d and %d elements; they must have as many", names, blobs, len(ids), len(list))
	}
	return ids, list, nil
}

// integer returns an integer from low to high.
func (v Values) integer(name string, low, high int64) (int64, error) {
	var n int64
	switch value := v[name].(type) {
	case nil:
		return 0, fmt.Errorf("value %q: %w", name, errAbsent)
	case int64:
		n = value
	case uint64:
		if value > math.MaxInt64 {
			return 0, fmt.Errorf("value %q: %d is over %d", name, value, high)
		}
		n = int64(value)
	default:
		return 0, fmt.Errorf("value %q: is a %T; an integer is needed", name, value)
	}
	if n < low || n > high {
		return 0, fmt.Errorf("value %q: %d is not from %d to %d", name, n, low, high)
	}
	return n, nil
}

// positive returns a number over 0 that is finite.
func (v Values) positive(name string) (float64, error) {
	switch value := v[name].(type) {
	case nil:
		return 0, fmt.Errorf("value %q: %w", name, errAbsent)
	case float64:
		if value > 0 && !math.IsInf(value, 0) {
			return value, nil
		}
		return 0, fmt.Errorf("value %q: %v is not a finite number over 0", name, value)
	default:
		return 0, fmt.Errorf("value %q: is a %T; a floating-point number is needed", name, value)
	}
}

// sameClients returns nil if got has each client of want once and no others.
func sameClients(got, want []uint64) error {
	a, b := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(a, b) {
		return fmt.Errorf("names %d clients that are not the %d expected", len(got), len(want))
	}
	return nil
}

// Masked returns the encoded arrays of a masked vector from the answer of a client to
// [StageCollect], as the client sent them; nil if there are none.
func Masked(answer Values) [][]byte {
	blobs, _ := answer.blobs(nameMasked) // the round reports what is wrong with them
	return blobs
}
