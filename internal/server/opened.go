package server

import "errors"

var errNotReady = errors.New("not ready")

// Opened is the Ready of a part that is ready once the channel is closed.
func Opened(ready <-chan struct{}) func() error {
	return func() error {
		select {
		case <-ready:
			return nil
		default:
			return errNotReady
		}
	}
}
