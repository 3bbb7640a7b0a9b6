// Package notify sends notifications over channels without blocking.
package notify

// Send sends on a channel if it has room, and does nothing otherwise. A goroutine
// that receives from a channel with a buffer of one, and then looks at the state
// that the sender has changed before, misses no change: a notification that finds
// the buffer full is one that the receiver still has to take.
//
// Send may be called while a lock is held. A nil channel has no room.
func Send(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
