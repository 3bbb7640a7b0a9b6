package strategy

import "slices"

// boundFields are the fields of [NewBounded].
var boundFields = [...]string{"norm_bound", "norm_factor", "norm_min_updates", "norm_refuse_factor", "norm_clip",
	"norm_taper"}

// TakeBounds splits a conf into the fields of [NewBounded] and the others. It
// does not change conf. An empty result is nil.
func TakeBounds(conf Conf) (bounds, rest Conf) {
	for field, given := range conf {
		into := &rest
		if slices.Contains(boundFields[:], field) {
			into = &bounds
		}
		if *into == nil {
			*into = Conf{}
		}
		(*into)[field] = given
	}
	return bounds, rest
}
