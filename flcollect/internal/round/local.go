package round

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// ErrLocal is matched by the error of a model that has not the layers of which a job says
// that they stay at home.
var ErrLocal = errors.New("local layers")

// LocalField is the member of instructions that lists the local layers.
const LocalField = "local_layers"

// Local says which layers of a model stay at the clients (FedPer, Arivazhagan and others
// 2019, arXiv 1912.00818; FedBN, Li and others 2021, arXiv 2102.07623). The model of the
// job has the others, the shared ones. A nil Local has no local layers.
type Local struct {
	// Total is how many layers the model of a client has.
	Total int `json:"total"`
	// Layers are the indices of the local ones, from 0, ascending.
	Layers []int `json:"layers"`
	// Given are the local layers as the configuration lists them.
	Given []string `json:"given"`
}

// FindLocal returns the local layers of a model. Each is given by its name, or by its index
// from 0; names may be nil. The error matches [ErrLocal].
func FindLocal(given []string, model strategy.Model, names []string) (Local, error) {
	l := Local{Total: len(model), Given: given}
	for _, layer := range given {
		at := slices.Index(names, layer)
		if at < 0 {
			index, err := strconv.Atoi(layer)
			switch {
			case err != nil && names == nil:
				return Local{}, fmt.Errorf("%w: %q is no index, and the layers of the model have no names", ErrLocal, layer)
			case err != nil:
				return Local{}, fmt.Errorf("%w: the model has no layer %q, but %q", ErrLocal, layer, names)
			case index < 0 || index >= len(model):
				return Local{}, fmt.Errorf("%w: there is no layer %d, the model has %d, from 0 on", ErrLocal, index, len(model))
			}
			at = index
		}
		if slices.Contains(l.Layers, at) {
			return Local{}, fmt.Errorf("%w: layer %d is listed twice, the second time as %q", ErrLocal, at, layer)
		}
		l.Layers = append(l.Layers, at)
	}
	slices.Sort(l.Layers)
	if len(l.Layers) == len(model) {
		return Local{}, fmt.Errorf("%w: all %d layers of the model are local, so there is nothing to train together", ErrLocal, len(model))
	}
	return l, nil
}

// Shared returns those of the elements for all layers that are for shared layers.
func Shared[T any](l *Local, all []T) []T {
	if l == nil {
		return all
	}
	kept := make([]T, 0, len(all))
	for i, element := range all {
		if !slices.Contains(l.Layers, i) {
			kept = append(kept, element)
		}
	}
	return kept
}

// cut returns the shared layers of an update, and how many local ones it has dropped.
func (l *Local) cut(p flower.Parameters) (flower.Parameters, int, error) {
	if l == nil {
		return p, 0, nil
	}
	switch shared := l.Total - len(l.Layers); len(p.Tensors) {
	case shared:
		return p, 0, nil
	case l.Total:
		return flower.Parameters{Type: p.Type, Tensors: Shared(l, p.Tensors)}, len(l.Layers), nil
	default:
		return p, 0, fmt.Errorf("%w: an update of %d layers, expected the %d that are shared, or all %d (local are %s)", ErrLocal,
			len(p.Tensors), shared, l.Total, strings.Join(l.Given, ", "))
	}
}

// announce has an instruction list the local layers.
func (l *Local) announce(config map[string]any) {
	if l != nil {
		config[LocalField] = strings.Join(l.Given, ",")
	}
}
