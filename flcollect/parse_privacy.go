package flcollect

import "math"

// privacy reads the privacy mechanisms (section 2, privacy-mechanisms). Who asks
// for one must not be trained with less: what is not there is refused, and so is
// a name that means nothing.
func (p *parser) privacy(v value) {
	mechanisms, ok := v.object(math.MaxInt)
	if !ok {
		return
	}
	for _, name := range mechanisms.names() {
		switch name {
		case "homomorphic", "dp-adaptive":
			mechanisms.at(name).fail("value_error.not_supported", "not supported by this server")
		default:
			mechanisms.at(name).fail("value_error.unknown", "no such privacy mechanism; there are homomorphic and dp-adaptive")
		}
	}
}
