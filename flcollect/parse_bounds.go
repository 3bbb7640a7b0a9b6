package flcollect

import (
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// bounds checks the parameters of norm bounding. Differential privacy clips by
// itself, and of encrypted updates nobody can tell how long they are.
func (p *parser) bounds(conf strategy.Conf, mechanisms, v value) {
	bounds, _ := strategy.TakeBounds(conf)
	for _, mechanism := range []string{dp.Mechanism, homomorphic} {
		if len(bounds) > 0 && mechanisms.has(mechanism) {
			for _, field := range slices.Sorted(maps.Keys(bounds)) {
				v.child(field).fail("value_error", "has no meaning with %s", mechanism)
			}
			return
		}
	}
	p.check(bounds, v, func(rest strategy.Conf) error {
		_, err := strategy.NewBounded(nil, rest)
		return err
	})
}
