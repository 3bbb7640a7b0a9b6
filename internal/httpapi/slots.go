package httpapi

import "net/http"

// Slots bounds how many requests of a kind are served at the same time. Slots are safe
// for concurrent use.
type Slots struct {
	taken chan struct{}
	busy  string
}

// NewSlots returns as many slots as given. The text is the detail of the error that a
// request gets when all of them are taken, such as "There are too many downloads. Please
// try again."
func NewSlots(count int, busy string) *Slots {
	return &Slots{taken: make(chan struct{}, count), busy: busy}
}

// Take takes a slot. The caller calls release once, when the request has been served.
// If no slot is free, the error is an [*Error] with status 503.
func (s *Slots) Take() (release func(), err error) {
	select {
	case s.taken <- struct{}{}:
		return func() { <-s.taken }, nil
	default:
		return nil, &Error{Status: http.StatusServiceUnavailable, Detail: s.busy}
	}
}
