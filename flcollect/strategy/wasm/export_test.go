package wasm

import "time"

// SetTime replaces Options.Time of a module that runs no function now.
func (m *Module) SetTime(limit time.Duration) { m.options.Time = limit }
