package s3

import "time"

// Advance moves the store's view of the server's clock forward. Nothing else
// may use the store meanwhile.
func (s *Store) Advance(by time.Duration) {
	before := s.now
	s.now = func() time.Time { return before().Add(by) }
}
